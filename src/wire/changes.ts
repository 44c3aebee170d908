import type { Clock } from '#kit/clock.ts';
import { messageOf } from '#kit/errors.ts';
import { isObject } from '#kit/json.ts';
import { createLineDecoder } from '#kit/line-decoder.ts';
import type { Random } from '#kit/random.ts';
import { createBodyReader } from './answer-stream.ts';
import { changesBinding } from './binding.ts';
import { connectProven, type ProvenConnection } from './connect.ts';
import { WireError } from './errors.ts';
import { type ExecutionLine, readExecutionLine } from './execution-line.ts';
import type { AgentIdentity, WireKey } from './keys.ts';
import { type QueueLine, readQueueLine } from './queue-line.ts';
import { readTaskLine, type TaskLine } from './task-line.ts';
import { mintInvocation } from './token.ts';

/** One line of `GET /changes`. Lines of types not listed here are skipped: newer agent-servers may send them. */
export type AgentServerChange =
  | { readonly type: 'hello'; readonly version: string; readonly instance: string }
  | {
      readonly type: 'state';
      readonly ready: boolean;
      readonly reason: string;
      readonly message: string;
      readonly toolCount: number;
      readonly toolsDigest: string;
      readonly lists: { readonly tools: string; readonly resources: string; readonly prompts: string };
      /** What each tool is, by name; absent when there are too many to say, or it does not. */
      readonly tools?: Readonly<Record<string, string>>;
      /** Names of tools with text that people do not see, the first of them. */
      readonly hidden?: readonly string[];
      /** Nobody has used it for a while. One that does not say is in use. */
      readonly idle: boolean;
    }
  | TaskLine
  | QueueLine
  | ExecutionLine
  | { readonly type: 'ping' };

export interface ChangesOptions {
  readonly address: string;
  /** The agent's keys, the current one first; the one that the agent-server proves signs. */
  readonly keys: readonly WireKey[];
  readonly agent: AgentIdentity;
  readonly instance: string;
  readonly clock: Clock;
  readonly random: Random;
  /** Ends the stream. */
  readonly signal: AbortSignal;
  /** Silence, in milliseconds, after which the stream counts as dead. Default 45,000: three pings. */
  readonly idleTimeoutMs?: number;
  /** Longest line. Default 128 KiB: a task's result, and what is said beside it. */
  readonly maxLineBytes?: number;
}

/**
 * Follows the change stream of one agent-server, from its state now on, and tells each change. Resolves when `signal`
 * is aborted; otherwise it rejects (ConnectFailed, ProofFailed, ChangesBroken) when the stream ends, and the caller
 * backs off and follows again. Does NOT reconnect by itself. What `onChange` throws breaks the stream.
 */
export async function followChanges(
  options: ChangesOptions,
  onChange: (change: AgentServerChange) => void,
): Promise<void> {
  if (options.signal.aborted) return;
  const connection = await connectProven(options);
  return followSocket(connection, options, onChange);
}

/** Listeners and no generators: a controller holds one of these for every agent, for as long as it lives. */
function followSocket(
  connection: ProvenConnection,
  options: ChangesOptions,
  onChange: (change: AgentServerChange) => void,
): Promise<void> {
  const { socket } = connection;
  const { clock, signal } = options;
  const idle = options.idleTimeoutMs ?? 45_000;
  const lines = createLineDecoder(options.maxLineBytes ?? 131_072);
  const reader = createBodyReader((piece) => {
    for (const line of lines.push(piece)) {
      const change = parseChange(line);
      // Nobody wants to hear of what came with the line after which they had enough.
      if (change !== undefined && !signal.aborted) onChange(change);
    }
  });
  return new Promise((resolve, reject) => {
    const stop = () => socket.destroy();
    const silent = () => socket.destroy(new Error(`silent for ${idle} ms`));
    let cancel = clock.after(idle, silent);
    let failure: Error | undefined;
    socket.on('error', (error) => {
      failure ??= error;
    });
    socket.on('end', stop).on('close', () => {
      cancel();
      signal.removeEventListener('abort', stop);
      if (signal.aborted) resolve();
      else reject(broken(options, failure ?? new Error('the stream ended')));
    });
    socket.on('data', (bytes) => {
      cancel();
      cancel = clock.after(idle, silent);
      try {
        if (reader.push(bytes)) socket.destroy();
      } catch (error) {
        socket.destroy(error instanceof Error ? error : new Error(String(error)));
      }
    });
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    else ask(connection, options);
  });
}

function broken({ instance }: ChangesOptions, cause: Error): WireError {
  return new WireError('ChangesBroken', `changes of ${instance}: ${messageOf(cause)}`, { cause });
}

function ask({ socket, key }: ProvenConnection, options: ChangesOptions): void {
  const token = mintInvocation(key, {
    agent: options.agent,
    instance: options.instance,
    caller: 'controller:first-party',
    user: null,
    call: changesBinding,
    now: options.clock.now(),
    random: options.random,
  });
  const head = ['GET /changes HTTP/1.1', 'Host: agent', `Authorization: Bearer ${token}`];
  socket.write(`${head.join('\r\n')}\r\nAccept: application/x-ndjson\r\n\r\n`);
}

function parseChange(line: string): AgentServerChange | undefined {
  if (line.trim() === '') return undefined;
  const value: unknown = JSON.parse(line);
  if (!isObject(value)) throw new Error('a line is no object');
  switch (value['type']) {
    case 'hello':
      return { type: 'hello', version: text(value['version']), instance: text(value['instance']) };
    case 'state':
      return readState(value);
    case 'task':
      return readTaskLine(value);
    case 'queue':
      return readQueueLine(value);
    case 'execution':
      return readExecutionLine(value);
    case 'ping':
      return { type: 'ping' };
    default:
      return undefined;
  }
}

function readState(value: Record<string, unknown>): AgentServerChange {
  const lists = isObject(value['lists']) ? value['lists'] : {};
  return {
    type: 'state',
    ready: value['ready'] === true,
    reason: text(value['reason']),
    message: text(value['message']),
    toolCount: typeof value['toolCount'] === 'number' ? value['toolCount'] : 0,
    toolsDigest: text(value['toolsDigest']),
    ...(isObject(value['tools']) && { tools: textsOf(value['tools']) }),
    ...(Array.isArray(value['hidden']) && { hidden: value['hidden'].slice(0, mostHidden).map(text) }),
    idle: value['idle'] === true,
    lists: {
      tools: text(lists['tools']),
      resources: text(lists['resources']),
      prompts: text(lists['prompts']),
    },
  };
}

/** Tools with hidden text that a state names. */
export const mostHidden = 20;

function textsOf(members: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [name, text(value)]));
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
