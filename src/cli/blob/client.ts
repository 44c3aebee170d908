import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { type Readable, Transform } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { messageOf } from '#kit/errors.ts';
import { isObject } from '#kit/json.ts';
import { CliError } from '../errors.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { notKnown } from '../not-known.ts';
import type { Router } from '../router.ts';

export interface BlobCall {
  readonly router: Router;
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** At the router, below its URL. */
  readonly path: string;
  /** Whose files, and which one, as `path` has it. */
  readonly agent: string;
  readonly id?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Readable;
  readonly signal: AbortSignal;
}

/** The answer of an agent about its files, when it did what was asked. Throws CliError. */
export async function askBlobs(call: BlobCall): Promise<IncomingMessage> {
  const answer = await send(call).catch((error: unknown) => {
    if (call.signal.aborted) throw error;
    const why = call.router.trouble?.() ?? messageOf(error);
    throw new CliError(exitCodes.notRunning, `the router at ${call.router.url} cannot be reached: ${why}`);
  });
  const status = answer.statusCode ?? 0;
  if (status >= 200 && status < 300) return answer;
  const body = await text(answer);
  if (status === 401) throw notKnown(call.router, body);
  if (status === 404) throw await missing(call);
  throw refusal(status, body);
}

/** The agent and its file answer alike when they are not there; so the agent is asked for the others. */
async function missing({ agent, id, path, body: _, headers: __, ...call }: BlobCall): Promise<CliError> {
  const place = path.split('?')[0] ?? '';
  const asked = {
    ...call,
    agent,
    method: 'GET',
    path: `${place.slice(0, place.lastIndexOf('/'))}?limit=1`,
  } as const;
  if (id === undefined || (await statusOf(asked)) === 404)
    return new CliError(
      exitCodes.notFound,
      `no agent ${agent} has files there`,
      '`ploinky get agents` shows those there are; of a Route give its blobs.path with --path.',
    );
  return new CliError(
    exitCodes.notFound,
    `agent ${agent} has no blob ${id}`,
    `\`ploinky blob list ${agent}\` shows those there are.`,
  );
}

async function statusOf(call: BlobCall): Promise<number | undefined> {
  const answer = await send(call);
  answer.resume();
  return answer.statusCode;
}

function send({ router, method, path, headers, body, signal }: BlobCall): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const start = router.url.startsWith('https:') ? httpsRequest : httpRequest;
  const request = start(`${router.url}${path}`, {
    ...{ method, signal, agent: false },
    headers: {
      accept: 'application/json, */*',
      ...headers,
      ...(router.host !== undefined && { host: router.host }),
      ...(router.key && { authorization: `Bearer ${router.key}` }),
    },
  });
  request.once('response', resolve).on('error', reject);
  if (body === undefined) request.end();
  // An answer may come before the end of the body: then it says why, better than the connection.
  else pipeline(body, request).catch((error: unknown) => setTimeout(() => reject(error), 500).unref());
  return promise;
}

function refusal(status: number, body: string): CliError {
  const { message, error, remedy } = parse(body);
  const said = [message, error, body.trim()].find((part) => typeof part === 'string' && part !== '');
  const what = `HTTP ${status}: ${String(said ?? 'no reason given').slice(0, 1000)}`;
  return new CliError(codeOf(status), what, typeof remedy === 'string' ? remedy : undefined);
}

function parse(body: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

function codeOf(status: number): ExitCode {
  if (status === 404) return exitCodes.notFound;
  if (status === 503) return exitCodes.notRunning;
  return status >= 400 && status < 500 ? exitCodes.refused : exitCodes.failed;
}

/** Passes bytes on and tells how many there were. */
export function counted(onBytes: (bytes: number) => void): Transform {
  let bytes = 0;
  return new Transform({
    highWaterMark: 1024 * 1024,
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      onBytes(bytes);
      done(null, chunk);
    },
  });
}
