import { ChildProcess } from 'node:child_process';
import type { Duplex, Readable, Writable } from 'node:stream';
import { type Exit, frameTypes, type SpawnFailure, type Template } from '../tools/spawner-protocol.ts';
import { failureOf, launch } from './launch.ts';
import { readLines } from './lines.ts';
import type { Link } from './link.ts';
import { type CallTrace, channelOf, findProcessesOf, signalProcess } from './processes.ts';
import { readNotice } from './reaper.ts';
import { reclaimAfter, relayOutput } from './relay-output.ts';

/** Milliseconds without output, twice in a row, after which nothing more is expected of an ended process. */
const quietMs = 60;
/** Milliseconds that output may still flow after the process itself has ended, without those in which it is held back. */
const drainMs = 2000;

/**
 * One process of a template, in a session and group of its own. It may wait for its call (prewarmed):
 * nothing is read from it before `serve`.
 */
export interface ToolProcess {
  readonly marker: string;
  /** Writes stdin, closes it and starts to pass output on under the call's id. Once only. */
  serve(call: number, stdin: Uint8Array): void;
  answer(line: Uint8Array): void;
  /** SIGTERM to all of it, SIGKILL after the template's grace. */
  kill(): void;
  /** SIGKILL at once; for a process that waits for a call and for the spawner's own end. */
  destroy(): void;
}

export interface ToolProcessEvents {
  /** It never started. With a reaper that may be known only after `serve`. */
  onFailed(failure: SpawnFailure): void;
  /** It and everything of it has ended. */
  onExit(exit: Exit): void;
}

export interface ToolProcessHost {
  readonly link: Link;
  /** Path of native/reaper.c's program; undefined: what belongs to a call is looked for by its traces. */
  readonly reaper: string | undefined;
  /** Frees the memory of what was read and dropped. */
  readonly reclaim?: (() => void) | undefined;
}

export function startToolProcess(
  template: Template,
  marker: string,
  host: ToolProcessHost,
  events: ToolProcessEvents,
): ToolProcess {
  const child = launch(template, marker, host.reaper);
  if (!(child instanceof ChildProcess)) {
    setImmediate(() => events.onFailed(child));
    return failedProcess(marker);
  }
  return superviseChild(child, template, marker, host, events);
}

function superviseChild(
  child: ChildProcess,
  template: Template,
  marker: string,
  { link, reaper, reclaim = () => undefined }: ToolProcessHost,
  events: ToolProcessEvents,
): ToolProcess {
  const [stdin, stdout, stderr, channel] = child.stdio as unknown as [Writable, Readable, Readable, Duplex];
  const pid = child.pid;
  const trace = { pid: pid ?? -1, marker, channel: pid === undefined ? undefined : channelOf(pid, 3) };
  const order = reaper === undefined ? searchOrders(trace) : reaperOrders(child);
  const state: State = { over: false, ended: false, killed: false, overflow: false };
  for (const stream of [stdin, stdout, stderr, channel]) stream.on('error', () => undefined);

  child.once('error', (error) => {
    if (pid === undefined) events.onFailed(failureOf(error, template, reaper));
  });
  child.once('exit', () => whenDrained(child, state, end));

  function end(): void {
    if (state.ended) return;
    state.ended = true;
    const report = () => {
      for (const stream of [stdin, stdout, stderr, channel]) stream.destroy();
      if (state.failure !== undefined) events.onFailed(state.failure);
      else events.onExit({ code: child.exitCode, signal: child.signalCode, overflow: state.overflow });
    };
    if (isNothingLeft()) report();
    else killAll(trace, report);
  }
  function isNothingLeft(): boolean {
    // A reaper leaves nothing, unless it was killed itself: no other signal ends it before it has done its work.
    if (reaper !== undefined) return child.signalCode !== 'SIGKILL';
    return !state.killed && stdout.readableEnded && !signalProcess(-trace.pid, 'SIGKILL');
  }
  function kill(graceMs: number): void {
    if (state.killed || state.ended || pid === undefined) return;
    state.killed = true;
    if (graceMs > 0) {
      order.terminate();
      setTimeout(() => !state.ended && order.kill(), graceMs);
    } else order.kill();
  }
  function onLine(call: number, line: Buffer): void {
    const notice = reaper === undefined ? undefined : readNotice(line, template.file);
    if (notice === undefined) link.relay(frameTypes.event, call, line, channel);
    else if (notice.type === 'failed') state.failure = notice.failure;
    else if (!state.over) whenDrained(child, state, order.kill);
    state.over ||= notice?.type === 'over';
  }
  function serve(call: number, input: Uint8Array): void {
    if (pid !== undefined) link.send(frameTypes.started, call, pidBytes(pid));
    stdin.end(input);
    relayOutput(
      stderr,
      template.maxStderr,
      (bytes) => link.relay(frameTypes.stderr, call, bytes, stderr),
      reclaim,
    );
    relayOutput(
      stdout,
      template.maxStdout,
      (bytes) => link.relay(frameTypes.stdout, call, bytes, stdout),
      reclaim,
      () => {
        state.overflow = true;
        kill(0);
      },
    );
    const drop = reclaimAfter(reclaim);
    channel.on('data', (chunk: Buffer) => drop(chunk.length));
    readLines(channel, template.maxEvent, (line) => onLine(call, line));
  }
  return {
    marker,
    serve,
    answer: (line) => void (channel.writable && channel.write(Buffer.concat([line, Buffer.from('\n')]))),
    kill: () => kill(template.graceMs),
    destroy: () => kill(0),
  };
}

interface State {
  /** The reaper said so, which it does once; a tool may say it as often as it likes. */
  over: boolean;
  ended: boolean;
  killed: boolean;
  overflow: boolean;
  failure?: SpawnFailure;
}

/** How what belongs to a call is told to end, and ended. */
interface Orders {
  terminate(): void;
  kill(): void;
}

/** `kill` of a child says nothing to a process that took its pid later. A tool may have stopped the reaper. */
function reaperOrders(child: ChildProcess): Orders {
  const send = (signal: NodeJS.Signals) => child.kill(signal) && child.kill('SIGCONT');
  return { terminate: () => void send('SIGTERM'), kill: () => void send('SIGQUIT') };
}

/** The group at once; what left it is ended after the process itself. */
function searchOrders(trace: CallTrace): Orders {
  return {
    terminate() {
      for (const victim of findProcessesOf(trace)) signalProcess(victim, 'SIGTERM');
    },
    kill: () => void signalProcess(-trace.pid, 'SIGKILL'),
  };
}

/**
 * Calls back when all output was read: at the latest `drainMs` after the end of the process itself, and
 * before that when whoever still holds the pipes open is silent. A pipe that is held back is not silent, and the time
 * in which one is does not count, unless the call is being ended: then nobody wants the rest.
 */
function whenDrained(child: ChildProcess, state: Pick<State, 'killed'>, done: () => void): void {
  const pipes = child.stdio.slice(1) as Readable[];
  let left = drainMs;
  let looked = performance.now();
  let pieces = 0;
  let timer: NodeJS.Timeout;
  for (const pipe of pipes) pipe.on('data', () => pieces++);
  const look = (before: number, quiet: number) => {
    const now = pieces;
    const isHeld = pipes.some((pipe) => pipe.isPaused());
    const time = performance.now();
    if (!isHeld || state.killed) left -= time - looked;
    looked = time;
    const silent = now === before && !isHeld;
    if ((silent && quiet >= 1) || left <= 0) done();
    // By way of setImmediate, so that what lies ready is read first, however late the timer is.
    else timer = setTimeout(() => setImmediate(look, now, silent ? quiet + 1 : 0), quietMs);
  };
  look(-1, 0);
  child.once('close', () => {
    clearTimeout(timer);
    done();
  });
}

/** SIGKILL to everything of a call, again until nothing is found: a process may fork while it is looked for. */
function killAll(trace: CallTrace, done: () => void, rounds = 40): void {
  const victims = findProcessesOf(trace);
  if (victims.length === 0 || rounds === 0) {
    done();
    return;
  }
  signalProcess(-trace.pid, 'SIGKILL');
  for (const victim of victims) signalProcess(victim, 'SIGKILL');
  setTimeout(() => killAll(trace, done, rounds - 1), 5);
}

function failedProcess(marker: string): ToolProcess {
  return { marker, serve() {}, answer() {}, kill() {}, destroy() {} };
}

function pidBytes(pid: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(pid);
  return bytes;
}
