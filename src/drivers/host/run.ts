import { rmSync } from 'node:fs';
import type { Clock } from '#kit/clock.ts';
import { signalGroup } from '#kit/process.ts';
import { type ControlConnection, connectControl } from './control-client.ts';
import { isAlive, readRecord } from './record.ts';
import type { ShimState, StateLine } from './shim/control-server.ts';
import { type WorkloadRecord, writeRecord } from './shim/record-file.ts';
import { clearRun } from './shim/stop.ts';

/** How long a shim may take to end after the sandbox's own grace before it is killed. */
const shimGraceMs = 5_000;

/**
 * One shim as the driver sees it, whether it started the shim or found it. `onChange` is called after every
 * change; after `ended` there is none.
 */
export class Run {
  state: ShimState = 'starting';
  record: WorkloadRecord;
  /** The driver asked it to stop: its end is not a crash. */
  isStopAsked = false;
  readonly #recordPath: string;
  readonly #clock: Clock;
  readonly #onChange: (run: Run) => void;
  #control: ControlConnection | undefined;
  #cancelKill: (() => void) | undefined;

  constructor(record: WorkloadRecord, recordPath: string, clock: Clock, onChange: (run: Run) => void) {
    this.record = record;
    this.#recordPath = recordPath;
    this.#clock = clock;
    this.#onChange = onChange;
    if (record.exit !== undefined && !isAlive(record)) this.state = 'ended';
  }

  /** Connects to the shim. Resolves when the state is known. */
  follow(): Promise<void> {
    if (this.state === 'ended') return Promise.resolve();
    return new Promise((resolve) => {
      const onState = (line: StateLine) => {
        this.#take(line);
        resolve();
      };
      this.#control = connectControl(this.record.controlSocket, onState, () => {
        void this.#onGone().finally(resolve);
      });
    });
  }

  get isOver(): boolean {
    return this.state === 'ended';
  }

  /** Asks the shim to end the sandbox; kills the shim when it does not. Asking twice is harmless. */
  stop(graceMs: number): void {
    if (this.isOver || this.isStopAsked) return;
    this.isStopAsked = true;
    this.state = 'stopping';
    this.#control?.send({ command: 'stop', graceMs });
    this.#cancelKill = this.#clock.after(graceMs + shimGraceMs, () => this.#killShim());
  }

  /** Lets go; the shim goes on. */
  detach(): void {
    this.#cancelKill?.();
    this.#control?.close();
  }

  #take(line: StateLine): void {
    this.record = line.record;
    // The sandbox is over, the shim not quite: `ended` is when both are.
    this.state = line.state === 'ended' || this.isStopAsked ? 'stopping' : line.state;
    this.#onChange(this);
  }

  /** SIGKILL reaches a stopped process too, and the sandbox dies with its shim. */
  #killShim(): void {
    if (!this.isOver && isAlive(this.record)) signalGroup(this.record.shim.pid, 'SIGKILL');
  }

  /** The connection closed: the shim has ended, or ends in a moment. */
  async #onGone(): Promise<void> {
    for (let look = 0; look < 100 && isAlive(this.record); look += 1) await this.#clock.sleep(20);
    if (isAlive(this.record)) return this.follow();
    this.#cancelKill?.();
    const record = readRecord(this.#recordPath) ?? this.record;
    this.record = record.exit === undefined ? await this.#bury(record) : record;
    this.state = 'ended';
    this.#onChange(this);
  }

  /** The shim was killed and its sandbox with it: does what the shim would have done last. */
  #bury(record: WorkloadRecord): Promise<WorkloadRecord> {
    return buryRun(record, this.#recordPath, this.#clock);
  }
}

/** Ends and clears what a killed shim left, and records how it ended. */
export async function buryRun(record: WorkloadRecord, path: string, clock: Clock): Promise<WorkloadRecord> {
  if (record.sandbox !== undefined && isAlive({ shim: record.sandbox })) {
    signalGroup(record.sandbox.pid, 'SIGKILL');
  }
  await clearRun(record, clock);
  if (record.address !== undefined) rmSync(record.address.replace(/^unix:/, ''), { force: true });
  rmSync(record.controlSocket, { force: true });
  const exit = { code: null, signal: 'SIGKILL', at: clock.now(), cause: 'its shim was killed' };
  const ended = { ...record, exit };
  writeRecord(path, ended);
  return ended;
}
