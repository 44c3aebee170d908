import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CodedError } from '#kit/errors.ts';
import type { InstallStep, Workload } from '../workload.ts';
import { findLiveRun, launchInstall } from './launch-run.ts';
import { tailOf } from './log-reader.ts';
import { openTree } from './open-tree.ts';
import type { HostDriverOptions } from './options.ts';
import { depsPlaces, installKey, type RunPlaces, runPlaces } from './places.ts';
import { Run } from './run.ts';
import type { WorkloadRecord } from './shim/record-file.ts';

const stampName = '.ploinky-install.json';

/**
 * Install steps by digest: each runs once whoever asks, what it leaves is published by one rename and used
 * by everyone with the same digest until the workspace is removed.
 */
export class Installs {
  readonly #options: HostDriverOptions;
  readonly #running = new Map<string, Promise<void>>();
  readonly #runs = new Map<string, Run>();
  /** Digests whose run is being ended because nobody waited for it. */
  readonly #abandoned = new Set<string>();

  constructor(options: HostDriverOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the step's result is there, or when `signal` is aborted. Throws `InstallFailed` with the end
   * of its log. Callers that come while it runs wait for the same run.
   */
  ensure(workload: Workload, step: InstallStep, signal: AbortSignal): Promise<void> {
    return unlessAborted(this.#ensure(workload, step), signal);
  }

  #ensure(workload: Workload, step: InstallStep): Promise<void> {
    const running = this.#running.get(step.digest);
    if (running === undefined) return this.#hold(step.digest, this.#install(workload, step));
    if (!this.#abandoned.has(step.digest)) return running;
    return running.then(
      () => undefined,
      () => this.#ensure(workload, step),
    );
  }

  /** What the step said, for the log of an agent that waited for it. */
  log(step: InstallStep): Promise<string> {
    return tailOf(depsPlaces(this.#options.places, step.digest).log, 2_000);
  }

  async isReady(digest: string): Promise<boolean> {
    const stamp = join(depsPlaces(this.#options.places, digest).ready, stampName);
    return stat(stamp).then(
      () => true,
      () => false,
    );
  }

  /** An install that a controller before this one started: it goes on, and whoever asks next waits for it. */
  adopt(record: WorkloadRecord, recordPath: string): void {
    const digest = record.specHash;
    const run = this.#follow(record, recordPath);
    this.#runs.set(digest, run);
    this.#hold(
      digest,
      run.follow().then(() => this.#finish(digest, run)),
    ).catch(() => undefined);
  }

  /** Ends the install when nobody waits for it any more. */
  abandon(digest: string): void {
    if (!this.#running.has(digest)) return;
    this.#abandoned.add(digest);
    this.#runs.get(digest)?.stop(0);
  }

  close(): void {
    for (const run of this.#runs.values()) run.detach();
  }

  #hold(digest: string, install: Promise<void>): Promise<void> {
    const held = install.finally(() => {
      this.#running.delete(digest);
      this.#abandoned.delete(digest);
    });
    this.#running.set(digest, held);
    return held;
  }

  async #install(workload: Workload, step: InstallStep): Promise<void> {
    if (await this.isReady(step.digest)) return;
    await this.#finish(step.digest, await this.#start(workload, step));
  }

  async #start(workload: Workload, step: InstallStep): Promise<Run> {
    const { places } = this.#options;
    const at = runPlaces(places, installKey(step.digest));
    const record = findLiveRun(at) ?? (await this.#launch(workload, step, at));
    const run = this.#follow(record, at.record);
    this.#runs.set(step.digest, run);
    await run.follow();
    if (this.#abandoned.has(step.digest)) run.stop(0);
    return run;
  }

  async #launch(workload: Workload, step: InstallStep, at: RunPlaces): Promise<WorkloadRecord> {
    const { places } = this.#options;
    const deps = depsPlaces(places, step.digest);
    await rm(deps.partial, { recursive: true, force: true });
    await mkdir(places.deps, { recursive: true, mode: 0o700 });
    await rm(deps.log, { force: true });
    return launchInstall(workload, step, at, this.#options);
  }

  #follow(record: WorkloadRecord, recordPath: string): Run {
    return new Run(record, recordPath, this.#options.clock, notifyWaiters);
  }

  /** Waits for the end of a run, publishes what it left or says why it cannot, and clears after it. */
  async #finish(digest: string, run: Run): Promise<void> {
    try {
      await untilOver(run);
      await this.#publish(digest, run.record);
    } finally {
      this.#runs.delete(digest);
      await this.#clean(digest);
    }
  }

  async #publish(digest: string, record: WorkloadRecord): Promise<void> {
    const deps = depsPlaces(this.#options.places, digest);
    const { exit } = record;
    if (exit?.code !== 0 || exit.cause !== undefined) {
      throw new CodedError('InstallFailed', await this.#explain(digest, record));
    }
    // Made by a user of its own, read by agents that are others.
    if (this.#options.sandbox.userOf('install') !== undefined) await openTree(deps.tree);
    const stamp = { version: 1, digest, finishedAt: new Date(exit.at).toISOString() };
    await rm(join(deps.tree, stampName), { recursive: true, force: true });
    await writeFile(join(deps.tree, stampName), `${JSON.stringify(stamp)}\n`, { flag: 'wx', mode: 0o644 });
    await rm(deps.ready, { recursive: true, force: true });
    await rename(deps.tree, deps.ready);
  }

  async #explain(digest: string, { exit }: WorkloadRecord): Promise<string> {
    const how =
      exit?.cause === 'timeout'
        ? 'took longer than its time limit'
        : `ended with ${exit?.signal ?? `exit code ${exit?.code}`}`;
    const log = await tailOf(depsPlaces(this.#options.places, digest).log, 20);
    return `the install step ${how}\n${log}`.trim();
  }

  async #clean(digest: string): Promise<void> {
    const { places } = this.#options;
    const at = runPlaces(places, installKey(digest));
    for (const folder of [depsPlaces(places, digest).partial, at.folder, at.files]) {
      await rm(folder, { recursive: true, force: true });
    }
  }
}

const waiters = new WeakMap<Run, () => void>();

function notifyWaiters(run: Run): void {
  if (run.isOver) waiters.get(run)?.();
}

function untilOver(run: Run): Promise<void> {
  if (run.isOver) return Promise.resolve();
  return new Promise((resolve) => waiters.set(run, resolve));
}

/** Settles with `promise`, or resolves when `signal` is aborted first. */
function unlessAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
    promise.then(resolve, reject);
  });
}
