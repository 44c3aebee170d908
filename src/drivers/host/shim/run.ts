import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Writable } from 'node:stream';
import type { Clock } from '#kit/clock.ts';
import { messageOf } from '#kit/errors.ts';
import { identifyProcess } from '#kit/process.ts';
import type { ShimPlan } from '../shim-plan.ts';
import { applyLimits } from './cgroups.ts';
import { claimFolder } from './claim.ts';
import { type ControlServer, type ShimState, serveControl } from './control-server.ts';
import { watchLease } from './lease.ts';
import { openRotatingLog } from './log-file.ts';
import { withOpenFiles } from './open-files.ts';
import { type RecordedExit, type WorkloadRecord, writeRecord } from './record-file.ts';
import { listenForChild, openRelay } from './sockets.ts';
import { type Started, startCommand } from './start.ts';
import { clearRun, killGroup, stopGracefully } from './stop.ts';

/**
 * The life of one shim: start the sandbox, tell who connects, stop it when asked, when its time is over or
 * when the workspace's lease has gone stale, write down how it ended, leave nothing else behind.
 * Resolves when everything is over. `onReady` is called once the control socket answers; `terminate` aborted
 * ends the sandbox as a stop command does.
 */
export async function runShim(
  plan: ShimPlan,
  clock: Clock,
  onReady: () => void,
  terminate?: AbortSignal,
): Promise<RecordedExit> {
  const shim = new Shim(plan, clock);
  terminate?.addEventListener('abort', () => shim.stop('SIGTERM', plan.graceMs));
  return shim.run(onReady);
}

class Shim {
  readonly #plan: ShimPlan;
  readonly #clock: Clock;
  readonly #log: Writable;
  #record: WorkloadRecord;
  #state: ShimState = 'starting';
  #control: ControlServer | undefined;
  #started: Started | undefined;
  #leader: number | undefined;
  #cause: string | undefined;
  #isOver = false;
  #cancels: (() => void)[] = [];
  #release: () => void = () => undefined;

  constructor(plan: ShimPlan, clock: Clock) {
    const identity = identifyProcess(process.pid) ?? { pid: process.pid, startTime: '', bootId: '' };
    this.#plan = plan;
    this.#clock = clock;
    this.#log = openRotatingLog(plan.log);
    this.#record = {
      version: 1,
      kind: plan.kind,
      workload: plan.workload,
      key: plan.key,
      instance: plan.instance,
      specHash: plan.specHash,
      shim: identity,
      controlSocket: plan.controlSocket,
      address: plan.listenSocket === undefined ? undefined : `unix:${plan.listenSocket}`,
      startedAt: clock.now(),
      limitsEnforced: false,
      cgroups: [],
    };
  }

  async run(onReady: () => void): Promise<RecordedExit> {
    this.#release = claimFolder(join(dirname(this.#plan.recordPath), 'claim'), this.#record.shim);
    writeRecord(this.#plan.recordPath, this.#record);
    this.#control = await serveControl(
      this.#plan.controlSocket,
      { state: this.#state, record: this.#record },
      (command) => this.stop('stop', command.graceMs ?? this.#plan.graceMs),
    );
    onReady();
    const exit = await this.#runSandbox().catch((error: unknown) => this.#failed(error));
    await this.#finish(exit);
    return exit;
  }

  async #runSandbox(): Promise<RecordedExit> {
    const plan = this.#plan;
    const relays = await Promise.all(plan.relays.map((relay) => openRelay(relay, plan.relayMode)));
    const listener = plan.listenSocket === undefined ? undefined : await listenForChild(plan.listenSocket);
    const limits = applyLimits(plan.limits, withOpenFiles(plan.launch, plan.openFiles));
    this.#update('starting', {
      limitsEnforced: limits.enforced,
      limitsMessage: limits.message,
      cgroups: limits.cgroups,
    });
    if (this.#cause !== undefined) throw new Error('stopped before it started');
    this.#started = startCommand(limits.launch, listener, this.#log);
    const ended = this.#whenEnded(this.#started);
    this.#watchTime();
    void this.#started.leader.then((leader) => this.#isUp(leader));
    const exit = await ended;
    for (const relay of relays) relay.close();
    return exit;
  }

  #whenEnded({ child }: Started): Promise<RecordedExit> {
    return new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code, signal) => {
        resolve({ code, signal, at: this.#clock.now(), cause: this.#cause });
      });
    });
  }

  #watchTime(): void {
    const { lease, timeoutMs } = this.#plan;
    if (lease !== undefined) {
      this.#cancels.push(watchLease(lease, this.#clock, (cause) => this.stop(cause, this.#plan.graceMs)));
    }
    if (timeoutMs !== undefined) {
      this.#cancels.push(this.#clock.after(timeoutMs, () => this.stop('timeout', this.#plan.graceMs)));
    }
  }

  #isUp(leader: number | undefined): void {
    if (leader === undefined) return;
    this.#leader = leader;
    if (this.#state !== 'starting') return;
    this.#update('running', { sandbox: identifyProcess(leader) });
  }

  /** Ends the sandbox; asked again, the shorter grace counts. */
  stop(cause: string, graceMs: number): void {
    this.#cause ??= cause;
    if (this.#started === undefined || this.#isOver) return;
    this.#update('stopping', {});
    this.#cancels.push(stopGracefully(this.#started.child, this.#leader, graceMs, this.#clock));
  }

  #failed(error: unknown): RecordedExit {
    this.#log.write(`could not start: ${messageOf(error)}\n`);
    return { code: null, signal: null, at: this.#clock.now(), cause: messageOf(error) };
  }

  async #finish(exit: RecordedExit): Promise<void> {
    this.#isOver = true;
    for (const cancel of this.#cancels) cancel();
    // What a command that ended by itself left in its group; its pid may be another's by now, its group not.
    if (this.#leader !== undefined) killGroup(this.#leader);
    await clearRun(this.#record, this.#clock);
    for (const path of [this.#plan.listenSocket, ...this.#plan.relays.map((relay) => relay.listen)]) {
      if (path !== undefined) rmSync(path, { force: true });
    }
    this.#update('ended', { exit });
    await new Promise<void>((resolve) => this.#log.end(resolve));
    await this.#control?.close();
    rmSync(this.#plan.controlSocket, { force: true });
    this.#release();
  }

  #update(state: ShimState, change: Partial<WorkloadRecord>): void {
    this.#state = state;
    this.#record = { ...this.#record, ...change };
    try {
      writeRecord(this.#plan.recordPath, this.#record);
    } catch (error) {
      // A full disk must not end the agent; a connected driver is told all the same.
      this.#log.write(`could not write the record: ${messageOf(error)}\n`);
    }
    this.#control?.publish({ state, record: this.#record });
  }
}
