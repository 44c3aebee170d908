import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CodedError } from '#kit/errors.ts';
import type { InstallStep, Workload } from '../workload.ts';
import { launchInstall } from './launch-run.ts';
import { tailOf } from './log-reader.ts';
import { openTree } from './open-tree.ts';
import type { HostDriverOptions } from './options.ts';
import { depsPlaces, installKey, runPlaces } from './places.ts';
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

  constructor(options: HostDriverOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the step's result is there. Throws `InstallFailed` with the end of its log.
   * Callers that come while it runs wait for the same run.
   */
  ensure(workload: Workload, step: InstallStep): Promise<void> {
    const running = this.#running.get(step.digest);
    if (running !== undefined) return running;
    const started = this.#install(workload, step).finally(() => this.#running.delete(step.digest));
    this.#running.set(step.digest, started);
    return started;
  }

  async isReady(step: InstallStep): Promise<boolean> {
    const stamp = join(depsPlaces(this.#options.places, step.digest).ready, stampName);
    return stat(stamp).then(
      () => true,
      () => false,
    );
  }

  /** An install that a controller before this one started: it goes on, and the next `ensure` waits for it. */
  async adopt(record: WorkloadRecord, recordPath: string): Promise<void> {
    const run = this.#follow(record, recordPath);
    this.#runs.set(record.specHash, run);
    await run.follow();
  }

  /** Ends the install when nobody waits for it any more. */
  abandon(digest: string): void {
    this.#runs.get(digest)?.stop(0);
  }

  close(): void {
    for (const run of this.#runs.values()) run.detach();
  }

  async #install(workload: Workload, step: InstallStep): Promise<void> {
    if (await this.isReady(step)) return;
    const run = this.#runs.get(step.digest) ?? (await this.#start(workload, step));
    try {
      await untilOver(run);
      await this.#conclude(step, run.record);
    } finally {
      this.#runs.delete(step.digest);
      await this.#clean(step);
    }
  }

  async #start(workload: Workload, step: InstallStep): Promise<Run> {
    const { places } = this.#options;
    const at = runPlaces(places, installKey(step.digest));
    const deps = depsPlaces(places, step.digest);
    await rm(deps.partial, { recursive: true, force: true });
    await mkdir(places.deps, { recursive: true, mode: 0o700 });
    await rm(deps.log, { force: true });
    const record = await launchInstall(workload, step, at, this.#options);
    const run = this.#follow(record, at.record);
    this.#runs.set(step.digest, run);
    await run.follow();
    return run;
  }

  #follow(record: WorkloadRecord, recordPath: string): Run {
    return new Run(record, recordPath, this.#options.clock, notifyWaiters);
  }

  async #conclude(step: InstallStep, record: WorkloadRecord): Promise<void> {
    const deps = depsPlaces(this.#options.places, step.digest);
    const { exit } = record;
    if (exit?.code !== 0 || exit.cause !== undefined) {
      throw new CodedError('InstallFailed', await this.#explain(step, record));
    }
    // Made by a user of its own, read by agents that are others.
    if (this.#options.sandbox.userOf('install') !== undefined) await openTree(deps.tree);
    const stamp = { version: 1, digest: step.digest, finishedAt: new Date(exit.at).toISOString() };
    await rm(join(deps.tree, stampName), { recursive: true, force: true });
    await writeFile(join(deps.tree, stampName), `${JSON.stringify(stamp)}\n`, { flag: 'wx', mode: 0o644 });
    await rm(deps.ready, { recursive: true, force: true });
    await rename(deps.tree, deps.ready);
  }

  async #explain(step: InstallStep, { exit }: WorkloadRecord): Promise<string> {
    const how =
      exit?.cause === 'timeout'
        ? `took longer than ${step.timeoutSeconds} s`
        : `ended with ${exit?.signal ?? `exit code ${exit?.code}`}`;
    const log = await tailOf(depsPlaces(this.#options.places, step.digest).log, 20);
    return `the install step ${how}: ${step.command.join(' ')}\n${log}`.trim();
  }

  async #clean(step: InstallStep): Promise<void> {
    const { places } = this.#options;
    const at = runPlaces(places, installKey(step.digest));
    for (const folder of [depsPlaces(places, step.digest).partial, at.folder, at.files]) {
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
