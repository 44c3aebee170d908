import type { Socket } from 'node:net';
import type { Clock } from '#kit/clock.ts';
import { isObject } from '#kit/json.ts';
import type { Random } from '#kit/random.ts';
import { bindTask, bindTaskEnd, type CallBinding } from './binding.ts';
import { connectProven } from './connect.ts';
import { WireError } from './errors.ts';
import { createConnectionPool } from './http1/connection-pool.ts';
import type { HttpHandler, HttpRequest } from './http1/message.ts';
import type { AgentIdentity, WireKey } from './keys.ts';
import { readTaskLine, type TaskLine } from './task-line.ts';
import { mintInvocation } from './token.ts';

/** POST: an execution to be made durable and run once. */
export const tasksPath = '/tasks';
/** POST: one to be ended. */
export const cancelTaskPath = '/tasks/cancel';

/** One attempt at a Task. */
export interface TaskRequest {
  /** The same key, the same execution: sent again, it is the question how far that is. */
  readonly key: string;
  readonly tool: string;
  readonly input: Record<string, unknown>;
  /** low, medium, high, critical. */
  readonly priority: 0 | 1 | 2 | 3;
  /** Milliseconds from the start. Default: as the tool says. */
  readonly timeoutMs?: number;
  /** Begins nothing: asks only for what is there already. */
  readonly known?: true;
  /**
   * Id of an execution that is there and has no key: it gets this one. With `known`, so that an agent-server that does
   * not know the member begins nothing either.
   */
  readonly adopt?: string;
}

export type TaskAnswer =
  | { readonly kind: 'taken'; readonly task: TaskLine }
  /** It will never take this one: a wrong tool or wrong input. */
  | { readonly kind: 'refused'; readonly message: string }
  /** Not now: too many wait, or its disk is full. */
  | { readonly kind: 'busy'; readonly message: string }
  /** It has none of this key (`known`, or to be ended). */
  | { readonly kind: 'unknown' };

/** Kept-alive, proven connections to one agent-server, for the controller. */
export interface TaskLink {
  /** Throws ConnectFailed, ProofFailed, and NotTaken for what is no answer. */
  submit(request: TaskRequest): Promise<TaskAnswer>;
  /** Ends the execution of this key, whether it waits or runs; the same answers. */
  cancel(key: string): Promise<TaskAnswer>;
  close(): void;
}

export interface TaskLinkOptions {
  readonly agent: AgentIdentity;
  readonly instance: string;
  readonly address: string;
  /** The agent's keys, the current one first. */
  readonly keys: readonly WireKey[];
  readonly clock: Clock;
  readonly random: Random;
  /** Silence, in milliseconds, after which a request has failed. Default 10,000. */
  readonly silenceMs?: number;
}

const connections = 4;

export function openTaskLink(options: TaskLinkOptions): TaskLink {
  const { clock, silenceMs = 10_000 } = options;
  let proven: WireKey | undefined;
  async function connect(): Promise<Socket> {
    const { socket, key } = await connectProven(options);
    proven = key;
    return socket;
  }
  const pool = createConnectionPool({ connections, connect, clock });
  let proving: Promise<void> | undefined;
  /** A token is signed with the key that the agent-server proved to hold. */
  async function signingKey(): Promise<WireKey> {
    if (proven === undefined) {
      proving ??= connect()
        .then((socket) => pool.adopt(socket))
        .finally(() => {
          proving = undefined;
        });
      await proving;
    }
    return proven ?? missingKey(options);
  }
  async function post(path: string, body: object, call: CallBinding): Promise<TaskAnswer> {
    const token = mintToken(await signingKey(), call, options);
    const headers = ['content-type', 'application/json', 'authorization', `Bearer ${token}`];
    const request = { method: 'POST', path, headers, body: JSON.stringify(body), silenceMs };
    const answer = await new Promise<Answer>((resolve, reject) =>
      pool.send(request, collect(request, resolve, reject)),
    );
    // Its key is another one now: the next request asks for it.
    if (answer.status === 401) proven = undefined;
    return readAnswer(answer, options);
  }
  return {
    submit: (request) => post(tasksPath, request, bindTask(request)),
    cancel: (key) => post(cancelTaskPath, { key }, bindTaskEnd(key)),
    close: () => pool.destroy(),
  };
}

function missingKey({ instance }: TaskLinkOptions): never {
  throw new WireError('ProofFailed', `${instance} proved no key`);
}

function mintToken(key: WireKey, call: CallBinding, { agent, instance, clock, random }: TaskLinkOptions) {
  const caller = 'controller:first-party';
  return mintInvocation(key, { agent, instance, caller, user: null, call, now: clock.now(), random });
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Bytes of an answer: a result, and what is said beside it. */
const longestAnswer = 262_144;

function collect(
  { path }: HttpRequest,
  resolve: (answer: Answer) => void,
  reject: (error: Error) => void,
): HttpHandler {
  const parts: Buffer[] = [];
  let status = 0;
  let size = 0;
  let abort: () => void = () => undefined;
  return {
    started(flow) {
      abort = () => flow.abort();
    },
    interim: () => undefined,
    head(code) {
      status = code;
    },
    data(chunk) {
      size += chunk.length;
      if (size <= longestAnswer) parts.push(chunk);
      else {
        abort();
        reject(new WireError('NotTaken', `the answer to ${path} is too long`));
      }
      return true;
    },
    ended: () => resolve({ status, text: Buffer.concat(parts).toString('utf8') }),
    failed: reject,
  };
}

function readAnswer({ status, text }: Answer, { instance }: TaskLinkOptions): TaskAnswer {
  const body = parse(text);
  const message = typeof body['message'] === 'string' ? body['message'] : '';
  const task = readTaskLine(body['task']);
  if (status === 200 && task !== undefined) return { kind: 'taken', task };
  if (status === 404 && body['error'] === unknownTask) return { kind: 'unknown' };
  if (status === 400 || status === 413) return { kind: 'refused', message };
  if (status === 429 || status === 503) return { kind: 'busy', message };
  if (status === 404 || status === 405) {
    return { kind: 'busy', message: 'The agent-server is of an older version, which takes no Tasks.' };
  }
  throw new WireError('NotTaken', `${instance} answered HTTP ${status}: ${message}`);
}

/** `error` of the answer when there is no task of the key. */
export const unknownTask = 'unknown_task';

function parse(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}
