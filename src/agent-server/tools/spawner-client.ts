import { type ChildProcess, spawn } from 'node:child_process';
import type { Duplex } from 'node:stream';
import { backoffDelay } from '#kit/backoff.ts';
import type { Clock } from '#kit/clock.ts';
import { inheritableDescriptors } from '#kit/descriptors.ts';
import type { Log } from '#kit/log.ts';
import type { Random } from '#kit/random.ts';
import {
  createFrameDecoder,
  type Exit,
  encodeFrame,
  encodeJsonFrame,
  encodeSpawn,
  type Frame,
  frameTypes,
  type SpawnFailure,
  type Template,
} from './spawner-protocol.ts';

/** What a call hears of its process. Exactly one of onExit, onFailed and onLost comes, and comes last. */
export interface ProcessListener {
  onStdout(bytes: Buffer): void;
  onStderr(bytes: Buffer): void;
  /** One line of JSON from fd 3. */
  onEvent(line: Buffer): void;
  onExit(exit: Exit): void;
  onFailed(failure: SpawnFailure): void;
  /** The spawner died; the process is being killed. */
  onLost(): void;
}

export interface RunningCall {
  /** Ends everything of the call; `onExit` follows. Harmless when it has ended. */
  kill(): void;
  /** A line for the tool's fd 3. */
  answer(line: string): void;
}

/** Starts processes through a small helper process, so that no fork copies this one's page tables. */
export interface Spawner {
  /** Registers how to start something; the returned id is for `start`. */
  define(template: Template): number;
  forget(template: number): void;
  /** Starts a process, or takes a waiting one, and gives it `stdin`. */
  start(template: number, stdin: string, listener: ProcessListener): RunningCall;
  /** pid of the helper, undefined while it is being restarted. */
  readonly pid: number | undefined;
  /** Ends the helper and with it every process. */
  close(): Promise<void>;
}

export interface SpawnerClientOptions {
  /** Program and arguments that run the helper; the generation is appended. */
  readonly command: readonly [string, ...string[]];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

const restartBackoff = { initial: 20, max: 5000, jitter: 0.1 };
/** Milliseconds of life after which a helper's death counts as the first one again. */
const stableMs = 10_000;
/** Milliseconds that a helper without connection has to end everything. */
const helperEndMs = 3000;

interface Connection {
  readonly child: ChildProcess;
  readonly socket: Duplex;
  readonly generation: string;
  readonly startedAt: number;
}

export function startSpawner(options: SpawnerClientOptions): Spawner {
  const { clock, log } = options;
  const templates = new Map<number, Template>();
  const listeners = new Map<number, ProcessListener>();
  const waiting: Buffer[] = [];
  let nextId = 1;
  let failures = 0;
  let closed = false;
  let lost: string[] = [];
  let connection: Connection | undefined = connect();

  function connect(): Connection {
    const made = openConnection(options, (frame) => deliver(frame, listeners), onLost);
    for (const old of lost) made.socket.write(encodeFrame(frameTypes.sweep, 0, Buffer.from(old)));
    for (const [id, template] of templates)
      made.socket.write(encodeJsonFrame(frameTypes.define, id, template));
    for (const frame of waiting.splice(0)) made.socket.write(frame);
    lost = [];
    return made;
  }
  function onLost(): void {
    const dead = connection;
    connection = undefined;
    if (dead !== undefined) endLater(dead.child, clock);
    const orphans = [...listeners.values()];
    listeners.clear();
    for (const listener of orphans) listener.onLost();
    if (closed || dead === undefined) return;
    lost.push(dead.generation);
    failures = clock.monotonic() - dead.startedAt > stableMs ? 1 : failures + 1;
    const delay = backoffDelay(restartBackoff, failures, options.random.fraction());
    log.warn('The spawner died and is started again', { delay, callsLost: orphans.length });
    clock.after(delay, () => {
      if (!closed) connection = connect();
    });
  }
  function send(frame: Buffer): void {
    if (connection === undefined) waiting.push(frame);
    else connection.socket.write(frame);
  }
  return {
    define(template) {
      const id = nextId++;
      templates.set(id, template);
      if (connection !== undefined) send(encodeJsonFrame(frameTypes.define, id, template));
      return id;
    },
    forget(id) {
      templates.delete(id);
      if (connection !== undefined) send(encodeFrame(frameTypes.forget, id));
    },
    start(template, stdin, listener) {
      const call = nextId++;
      listeners.set(call, listener);
      send(encodeSpawn(call, template, stdin));
      return {
        kill: () => void (listeners.has(call) && send(encodeFrame(frameTypes.kill, call))),
        answer: (line) =>
          void (listeners.has(call) && send(encodeFrame(frameTypes.answer, call, Buffer.from(line)))),
      };
    },
    get pid() {
      return connection?.child.pid;
    },
    close() {
      closed = true;
      return endHelper(connection);
    },
  };
}

function openConnection(
  { command, clock, random, log }: SpawnerClientOptions,
  onFrame: (frame: Frame) => void,
  onClose: () => void,
): Connection {
  const generation = random.bytes(8).toString('hex');
  const child = launchHelper(command, generation);
  const socket = child.stdio[3] as unknown as Duplex;
  const decoder = createFrameDecoder();
  socket.on('data', (chunk: Buffer) => {
    for (const frame of decoder.push(chunk)) onFrame(frame);
  });
  socket.on('error', () => undefined);
  socket.once('close', onClose);
  child.once('error', (error) => log.error('The spawner cannot start', { error }));
  return { child, socket, generation, startedAt: clock.monotonic() };
}

/**
 * The helper inherits nothing: no environment, and in place of every descriptor that this process was
 * started with (the listening socket, the log) it finds /dev/null.
 */
function launchHelper(command: readonly [string, ...string[]], generation: string): ChildProcess {
  const [file, ...args] = command;
  const masked = Math.max(3, ...inheritableDescriptors());
  const stdio = [
    'ignore',
    'ignore',
    'inherit',
    'pipe',
    ...Array<'ignore'>(masked - 3).fill('ignore'),
  ] as const;
  return spawn(file, [...args, generation], { env: {}, stdio: [...stdio] });
}

/** A helper that lost its connection ends its processes and itself; one that does not is killed. */
function endLater(child: ChildProcess, clock: Clock): void {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const cancel = clock.after(helperEndMs, () => child.kill('SIGKILL'));
  child.once('exit', cancel);
}

function deliver({ type, id, payload }: Frame, listeners: Map<number, ProcessListener>): void {
  const listener = listeners.get(id);
  if (listener === undefined) return;
  if (type === frameTypes.stdout) listener.onStdout(payload);
  else if (type === frameTypes.stderr) listener.onStderr(payload);
  else if (type === frameTypes.event) listener.onEvent(payload);
  else if (type === frameTypes.exit) {
    listeners.delete(id);
    listener.onExit(JSON.parse(payload.toString('utf8')) as Exit);
  } else if (type === frameTypes.failed) {
    listeners.delete(id);
    listener.onFailed(JSON.parse(payload.toString('utf8')) as SpawnFailure);
  }
}

/** Closing the connection is the order to end everything; the helper's exit says that it is done. */
function endHelper(connection: Connection | undefined): Promise<void> {
  if (connection === undefined) return Promise.resolve();
  return new Promise((resolve) => {
    if (connection.child.exitCode !== null || connection.child.signalCode !== null) resolve();
    else connection.child.once('exit', () => resolve());
    connection.socket.end();
  });
}
