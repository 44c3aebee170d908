import type { Socket } from 'node:net';
import { StringDecoder } from 'node:string_decoder';
import type { Clock } from '#kit/clock.ts';
import { messageOf } from '#kit/errors.ts';
import { isObject } from '#kit/json.ts';
import type { Random } from '#kit/random.ts';
import { readAnswerBody } from './answer-stream.ts';
import { changesBinding } from './binding.ts';
import { connectProven, type ProvenConnection } from './connect.ts';
import { WireError } from './errors.ts';
import type { AgentIdentity, WireKey } from './keys.ts';
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
  | { readonly type: 'ping' };

export interface ChangesOptions {
  readonly address: string;
  /** The agent's keys, the current one first; the one that the agent-server proves signs. */
  readonly keys: readonly WireKey[];
  readonly agent: AgentIdentity;
  readonly instance: string;
  readonly clock: Clock;
  readonly random: Random;
  /** Ends the iteration. */
  readonly signal: AbortSignal;
  /** Silence, in milliseconds, after which the stream counts as dead. Default 45,000: three pings. */
  readonly idleTimeoutMs?: number;
  /** Longest line. Default 64 KiB. */
  readonly maxLineBytes?: number;
}

/**
 * The change stream of one agent-server, from its state now on. Ends quietly when `signal` is aborted;
 * otherwise it throws (ConnectFailed, ProofFailed, ChangesBroken) when the stream ends, and the caller
 * backs off and opens it again. Does NOT reconnect by itself.
 */
export async function* openChanges(options: ChangesOptions): AsyncGenerator<AgentServerChange, void> {
  if (options.signal.aborted) return;
  const connection = await connectProven(options);
  const { socket } = connection;
  const stop = () => socket.destroy();
  options.signal.addEventListener('abort', stop, { once: true });
  try {
    ask(connection, options);
    for await (const line of readLines(socket, options)) {
      const change = parseChange(line);
      if (change !== undefined) yield change;
    }
    throw new Error('the stream ended');
  } catch (error) {
    if (options.signal.aborted) return;
    if (error instanceof WireError) throw error;
    throw new WireError('ChangesBroken', `changes of ${options.instance}: ${messageOf(error)}`, {
      cause: error,
    });
  } finally {
    options.signal.removeEventListener('abort', stop);
    socket.destroy();
  }
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

async function* readLines(socket: Socket, options: ChangesOptions): AsyncGenerator<string> {
  const idle = options.idleTimeoutMs ?? 45_000;
  const silent = () => socket.destroy(new Error(`silent for ${idle} ms`));
  let cancel = options.clock.after(idle, silent);
  const decoder = new StringDecoder('utf8');
  let rest = '';
  try {
    for await (const chunk of readAnswerBody(socket)) {
      cancel();
      cancel = options.clock.after(idle, silent);
      const lines = (rest + decoder.write(chunk)).split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > (options.maxLineBytes ?? 65_536)) throw new Error('a line is too long');
      yield* lines;
    }
  } finally {
    cancel();
  }
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
