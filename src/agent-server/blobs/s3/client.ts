import { createHash } from 'node:crypto';
import { type Agent, type IncomingMessage, request } from 'node:http';
import { AwsV4Signer } from 'aws4fetch';
import type { Clock } from '#kit/clock.ts';
import { messageOf } from '#kit/errors.ts';
import { hostOf, portOf } from '../../upstream/remote/fetch.ts';
import { BlobError } from '../errors.ts';
import { codeIn } from './xml.ts';

/** Where objects are. */
export interface S3Place {
  readonly endpoint: URL;
  readonly region: string;
  readonly bucket: string;
  /** Whether the bucket stands in the path, not in the name of the host. */
  readonly pathStyle: boolean;
}

/** Secret. */
export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

export interface S3ClientOptions {
  readonly place: S3Place;
  /** Asked at each request: they change while the agent runs. */
  readonly credentials: () => S3Credentials | undefined;
  readonly agent: Agent;
  readonly clock: Clock;
  /** Milliseconds until an answer begins, and between two parts of it. */
  readonly idleMs: number;
}

export interface S3Request {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** Empty: the bucket itself. */
  readonly key: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: readonly Buffer[];
  /** In hex, where it is known already. */
  readonly sha256?: string;
}

export interface S3Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

export interface S3Client {
  /** Sends it, again where that may help; the whole answer, 2xx or 404. Rejects with BlobError StoreFailed. */
  ask(order: S3Request): Promise<S3Answer>;
  /** Its body is for the caller to read, or to destroy. Rejects where the answer is not 2xx. */
  open(order: S3Request): Promise<IncomingMessage>;
}

const nothing = createHash('sha256').digest('hex');
const longestAnswer = 4 * 1024 * 1024;
const attempts = 4;
const firstPauseMs = 100;

export function createS3Client(options: S3ClientOptions): S3Client {
  const { clock, idleMs, place } = options;
  const keys = new Map<string, ArrayBuffer>();

  async function once(order: S3Request): Promise<IncomingMessage> {
    return send(options, order, keys);
  }
  async function whole(order: S3Request): Promise<S3Answer> {
    const incoming = await once(order);
    const text = await readText(incoming, clock, idleMs);
    return { status: incoming.statusCode ?? 0, headers: incoming.headers, text };
  }
  async function retried<Result>(order: S3Request, attempt: () => Promise<Result | Busy>): Promise<Result> {
    for (let failures = 1; ; failures += 1) {
      const outcome = await attempt().catch((error: unknown) => {
        if (error instanceof BlobError) throw error;
        return new Busy(messageOf(error), error);
      });
      if (!(outcome instanceof Busy)) return outcome;
      if (failures === attempts) throw failed(place, order, outcome.problem, outcome.cause);
      await clock.sleep(firstPauseMs * 4 ** (failures - 1));
    }
  }
  return {
    ask: (order) =>
      retried(order, async () => {
        const answer = await whole(order);
        if (isOk(answer.status) || answer.status === 404) return answer;
        return judge(place, order, answer.status, answer.text);
      }),
    open: (order) =>
      retried(order, async () => {
        const incoming = await once(order);
        const { statusCode: status = 0 } = incoming;
        if (isOk(status)) return incoming;
        return judge(place, order, status, await readText(incoming, clock, idleMs));
      }),
  };
}

/** What may work another time. */
class Busy {
  readonly problem: string;
  readonly cause: unknown;

  constructor(problem: string, cause?: unknown) {
    this.problem = problem;
    this.cause = cause;
  }
}

function isOk(status: number): boolean {
  return status >= 200 && status < 300;
}

/** Throws where asking again does not help. What the store writes beside its code may name the access key: it is not told. */
function judge(place: S3Place, order: S3Request, status: number, text: string): Busy {
  const said = `HTTP ${status} ${codeIn(text) ?? ''}`.trim();
  if (status >= 500 || status === 429 || status === 408) return new Busy(said);
  throw failed(place, order, said);
}

function failed({ endpoint, bucket }: S3Place, { method }: S3Request, problem: string, cause?: unknown) {
  return new BlobError('StoreFailed', `The store ${endpoint.host}/${bucket} failed (${method}): ${problem}`, {
    cause,
    remedy:
      'See spec.storage.blobs.s3 of the Agent: endpoint, bucket, and the Secret of credentialsSecretRef.',
  });
}

async function send(
  options: S3ClientOptions,
  order: S3Request,
  cache: Map<string, ArrayBuffer>,
): Promise<IncomingMessage> {
  const { place, credentials, agent, clock, idleMs } = options;
  const { method, body = [] } = order;
  const held = credentials();
  if (held === undefined) throw failed(place, order, 'its credentials are missing');
  const url = urlOf(place, order);
  const signed = await new AwsV4Signer({
    ...{ method, service: 's3', region: place.region, cache, url: url.href },
    headers: { ...order.headers, 'x-amz-content-sha256': order.sha256 ?? digestOf(body) },
    ...{ accessKeyId: held.accessKeyId, secretAccessKey: held.secretAccessKey },
    ...(held.sessionToken !== undefined && { sessionToken: held.sessionToken }),
    datetime: new Date(clock.now()).toISOString().replace(/[:-]|\.\d{3}/g, ''),
  }).sign();
  const length = body.reduce((sum, part) => sum + part.length, 0);
  const hasBody = method === 'PUT' || method === 'POST';
  return new Promise((resolve, reject) => {
    const outgoing = request({
      ...{ agent, method, host: hostOf(url), port: portOf(url), path: `${url.pathname}${url.search}` },
      headers: {
        ...Object.fromEntries(signed.headers),
        host: url.host,
        ...(hasBody && { 'content-length': length }),
      },
    });
    const late = () => outgoing.destroy(new Error(`no answer within ${idleMs} ms`));
    let cancel = clock.after(idleMs, late);
    // What it takes to send a part counts, from here: before, it waited for a connection.
    outgoing.once('socket', () => {
      cancel();
      cancel = clock.after(idleMs, late);
    });
    outgoing.once('response', (incoming) => {
      cancel();
      resolve(incoming);
    });
    outgoing.once('close', () => cancel()).on('error', reject);
    for (const part of body) outgoing.write(part);
    outgoing.end();
  });
}

function urlOf({ endpoint, bucket, pathStyle }: S3Place, { key, query = {} }: S3Request): URL {
  const url = new URL(endpoint);
  if (!pathStyle) url.host = `${bucket}.${endpoint.host}`;
  url.pathname = `${endpoint.pathname.replace(/\/+$/, '')}/${pathStyle ? `${bucket}/` : ''}${key}`;
  // In the form that is signed: a space is %20, never a plus.
  const pairs = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  url.search = pairs.join('&');
  return url;
}

function digestOf(body: readonly Buffer[]): string {
  if (body.length === 0) return nothing;
  const hash = createHash('sha256');
  for (const part of body) hash.update(part);
  return hash.digest('hex');
}

async function readText(incoming: IncomingMessage, clock: Clock, idleMs: number): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  const cancel = clock.after(idleMs, () => incoming.destroy(new Error('the answer broke off')));
  try {
    for await (const part of incoming as AsyncIterable<Buffer>) {
      size += part.length;
      if (size > longestAnswer) throw new Error('the answer is too long');
      parts.push(part);
    }
    return Buffer.concat(parts).toString('utf8');
  } finally {
    cancel();
  }
}
