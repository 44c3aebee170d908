import { appendFile, mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf, messageOf } from '#kit/errors.ts';
import type { Availability, Driver, LogOptions } from '../driver.ts';
import { reasonOfCode } from '../errors.ts';
import type { InstallStep, Observed, Workload, WorkloadId } from '../workload.ts';
import { findNoted, findRecords, noteWorkload } from './adopt.ts';
import { Installs } from './installs.ts';
import { findLiveRun, launchAgent } from './launch-run.ts';
import { readLog, tailOf } from './log-reader.ts';
import { observe } from './observe.ts';
import { type HostDriverOptions, hostDefaults } from './options.ts';
import { placesOfDriver, runPlaces, workloadKey } from './places.ts';
import { isAlive } from './record.ts';
import { isThere, removeFiles } from './remove-files.ts';
import { buryRun, Run } from './run.ts';
import type { WorkloadRecord } from './shim/record-file.ts';
import { hasUntoldEnd, newSlot, type Slot, type StartAttempt } from './slot.ts';

/** How long `remove` waits for files to go before it says `done: false`. */
const removeWaitMs = 500;
/** How long a shim may take to say what it does before others are no longer kept waiting for it. */
const adoptWaitMs = 2_000;
/** Lines of the log that go into the message of a workload that ended. */
const tailLines = 20;

/**
 * The driver of this host's sandboxes, whichever way they are made. It holds one connection per shim and no
 * state of its own that a restart would lose: shims and their records are found again.
 */
export function createHostDriver(options: HostDriverOptions): Driver {
  return new HostDriver(options);
}

class HostDriver implements Driver {
  readonly name: Driver['name'];
  readonly #options: HostDriverOptions;
  readonly #slots = new Map<string, Slot>();
  readonly #listeners = new Set<(id: WorkloadId) => void>();
  readonly #installs: Installs;
  readonly #adopted: Promise<void>;
  #availability: Promise<Availability> | undefined;

  constructor(options: HostDriverOptions) {
    this.name = options.sandbox.name;
    this.#options = { ...options, places: placesOfDriver(options.places, this.name) };
    this.#installs = new Installs(this.#options);
    this.#adopted = this.#adopt().catch((error: unknown) => {
      options.log.error('could not look for running sandboxes', { error });
    });
  }

  /** Asks again after a refusal: what was missing may have been installed. */
  async available(): Promise<Availability> {
    this.#availability ??= this.#options.sandbox.available();
    const availability = await this.#availability;
    if (!availability.ok) this.#availability = undefined;
    return availability;
  }

  async ensure(workload: Workload, { start }: { readonly start: boolean }): Promise<Observed> {
    await this.#adopted;
    const slot = this.#slotOf(workload.id);
    if (slot.removal === undefined) this.#converge(slot, workload, start);
    return observe(slot);
  }

  async remove(
    id: WorkloadId,
    { retain }: { readonly retain: boolean },
  ): Promise<{ readonly done: boolean }> {
    await this.#adopted;
    const slot = this.#slotOf(id);
    if (slot.start !== undefined) this.#cancel(slot.start);
    if (slot.run !== undefined && !slot.run.isOver) {
      slot.run.stop(this.#graceMs);
      return { done: false };
    }
    if (slot.start !== undefined) return { done: false };
    const removal = this.#beginRemoval(slot, retain);
    const isAwaited = await Promise.race([
      removal.then(() => true),
      this.#options.clock.sleep(removeWaitMs).then(() => false),
    ]);
    // Nobody waits any more; told of a change, they ask again.
    if (!isAwaited) removal.catch(() => this.#tell(slot));
    return { done: slot.isRemoved };
  }

  async list(): Promise<readonly WorkloadId[]> {
    await this.#adopted;
    const ids = new Map<string, WorkloadId>();
    for (const id of await findNoted(this.#options.places)) ids.set(workloadKey(id), id);
    for (const slot of this.#slots.values()) {
      if (slot.run !== undefined || slot.start !== undefined) ids.set(slot.at.key, slot.id);
    }
    return [...ids.values()];
  }

  watch(onChange: (id: WorkloadId) => void): () => void {
    this.#listeners.add(onChange);
    return () => this.#listeners.delete(onChange);
  }

  logs(id: WorkloadId, { tail = 200, follow = false, signal }: LogOptions): AsyncIterable<string> {
    return readLog(this.#options.places.log(id), { tail, follow, signal });
  }

  async close(): Promise<void> {
    await this.#adopted;
    this.#listeners.clear();
    this.#installs.close();
    for (const slot of this.#slots.values()) slot.run?.detach();
  }

  get #graceMs(): number {
    return this.#options.graceMs ?? hostDefaults.graceMs;
  }

  #slotOf(id: WorkloadId): Slot {
    const key = workloadKey(id);
    const known = this.#slots.get(key);
    if (known !== undefined) return known;
    const slot = newSlot(id, runPlaces(this.#options.places, key));
    this.#slots.set(key, slot);
    return slot;
  }

  #tell(slot: Slot): void {
    for (const listener of this.#listeners) listener(slot.id);
  }

  /** Takes the one next step towards `workload`, if there is one to take now. */
  #converge(slot: Slot, workload: Workload, start: boolean): void {
    const { run } = slot;
    if (run !== undefined && !run.isOver) {
      if (run.record.specHash !== workload.specHash) run.stop(this.#graceMs);
      return;
    }
    if (slot.start !== undefined) {
      if (slot.start.workload.specHash !== workload.specHash) this.#cancel(slot.start);
      return;
    }
    if (hasUntoldEnd(slot)) {
      slot.isEndTold = true;
      return;
    }
    if (start) this.#begin(slot, workload);
  }

  #begin(slot: Slot, workload: Workload): void {
    const attempt: StartAttempt = {
      workload,
      instance: this.#options.random.uuid(),
      startedAt: this.#options.clock.now(),
      cancel: new AbortController(),
      phase: workload.install === undefined ? 'Starting' : 'Installing',
    };
    slot.start = attempt;
    slot.failure = undefined;
    slot.isEndTold = false;
    void this.#start(slot, attempt)
      .catch((error: unknown) => this.#noteFailure(slot, attempt, error))
      .finally(() => {
        slot.start = undefined;
        this.#tell(slot);
      });
  }

  async #start(slot: Slot, attempt: StartAttempt): Promise<void> {
    const { workload } = attempt;
    const { signal } = attempt.cancel;
    await this.#prepare(slot, workload);
    if (workload.install !== undefined) await this.#install(workload, workload.install, signal);
    if (signal.aborted) return;
    if (attempt.phase === 'Installing') {
      attempt.phase = 'Starting';
      this.#tell(slot);
    }
    const record = findLiveRun(slot.at) ?? (await launchAgent(workload, slot.at, this.#options));
    slot.run = this.#newRun(slot, record);
    await slot.run.follow();
    if (signal.aborted) slot.run.stop(this.#graceMs);
  }

  async #install(workload: Workload, step: InstallStep, signal: AbortSignal): Promise<void> {
    if (await this.#installs.isReady(step.digest)) return;
    try {
      await this.#installs.ensure(workload, step, signal);
    } finally {
      const path = this.#options.places.log(workload.id);
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      await appendFile(path, `install step:\n${await this.#installs.log(step)}\n`, { mode: 0o600 });
    }
  }

  async #prepare(slot: Slot, { id }: Workload): Promise<void> {
    for (const folder of [this.#options.places.workloads, this.#options.places.files, slot.at.files]) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
    }
    await noteWorkload(slot.at.files, id);
  }

  #noteFailure(slot: Slot, attempt: StartAttempt, error: unknown): void {
    if (attempt.cancel.signal.aborted) return;
    slot.run = undefined;
    const reason = reasonOfCode[codeOf(error) ?? ''];
    const { instance, startedAt, workload } = attempt;
    slot.failure = {
      instance,
      startedAt,
      at: this.#options.clock.now(),
      specHash: workload.specHash,
      ...(reason === undefined ? {} : { reason }),
      message: messageOf(error),
    };
    this.#options.log.warn('a workload could not be started', { workload: slot.id, error });
  }

  /** Gives up a start; an install goes on when another workload waits for it too. */
  #cancel(attempt: StartAttempt): void {
    attempt.cancel.abort();
    const digest = attempt.workload.install?.digest;
    if (attempt.phase !== 'Installing' || digest === undefined) return;
    const isShared = [...this.#slots.values()].some(
      ({ start }) => start?.cancel.signal.aborted === false && start.workload.install?.digest === digest,
    );
    if (!isShared) this.#installs.abandon(digest);
  }

  #newRun(slot: Slot, record: WorkloadRecord): Run {
    return new Run(record, slot.at.record, this.#options.clock, (run) => {
      if (!run.isOver) this.#tell(slot);
      else void this.#noteEnd(slot);
    });
  }

  async #noteEnd(slot: Slot): Promise<void> {
    slot.isEndTold = false;
    slot.tail = await tailOf(this.#options.places.log(slot.id), tailLines).catch(() => '');
    this.#tell(slot);
  }

  #beginRemoval(slot: Slot, retain: boolean): Promise<void> {
    if (slot.removal !== undefined) return slot.removal;
    const removal = this.#removeFiles(slot, retain).finally(() => {
      slot.removal = undefined;
    });
    removal.catch((error: unknown) => {
      this.#options.log.warn('files of a workload could not be removed', { workload: slot.id, error });
    });
    slot.removal = removal;
    return removal;
  }

  async #removeFiles(slot: Slot, retain: boolean): Promise<void> {
    // Workspace and log go by the name, which an Agent that was created again has too.
    const isNameTaken = (await this.list()).some(
      ({ namespace, name, uid }) =>
        uid !== slot.id.uid && name === slot.id.name && namespace === slot.id.namespace,
    );
    const { places, logKeep } = this.#options;
    const wasThere = isThere(slot);
    await removeFiles(slot, places, {
      retain: retain || isNameTaken,
      logKeep: logKeep ?? hostDefaults.logKeep,
    });
    slot.isRemoved = true;
    this.#slots.delete(slot.at.key);
    // Whoever asks again and again is not told of what had been done before: that would be for ever.
    if (wasThere) this.#tell(slot);
  }

  /** Finds the shims of an earlier controller, connects to those that run and clears after those that were killed. */
  async #adopt(): Promise<void> {
    const { places, clock, log } = this.#options;
    const adoptions = (await findRecords(places)).map(async ({ path, record }) => {
      const isGone = record.exit === undefined && !isAlive(record);
      const known = isGone ? await buryRun(record, path, clock) : record;
      if (known.kind === 'install') this.#installs.adopt(known, path);
      else await this.#adoptRun(known);
    });
    for (const adoption of await Promise.allSettled(adoptions)) {
      if (adoption.status === 'rejected') {
        log.error('could not take over a running sandbox', { error: adoption.reason });
      }
    }
  }

  async #adoptRun(record: WorkloadRecord): Promise<void> {
    const { places, clock } = this.#options;
    const slot = this.#slotOf(record.workload);
    slot.run = this.#newRun(slot, record);
    await Promise.race([slot.run.follow(), clock.sleep(adoptWaitMs)]);
    if (slot.run.isOver) slot.tail = await tailOf(places.log(slot.id), tailLines).catch(() => '');
  }
}
