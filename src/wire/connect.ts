import { connect, type Socket } from 'node:net';
import { messageOf } from '#kit/errors.ts';
import type { Random } from '#kit/random.ts';
import { challengeQuery, proofPath, provenKey } from './challenge.ts';
import { WireError } from './errors.ts';
import { AnswerReader } from './http1/answer-reader.ts';
import type { AnswerHead } from './http1/read-head.ts';
import type { WireKey } from './keys.ts';

export interface ConnectOptions {
  /** `unix:/path` or `host:port` (IPv6 in brackets). */
  readonly address: string;
  /** The agent's keys; the peer must hold one of them. */
  readonly keys: readonly WireKey[];
  /** Instance that is expected to answer. */
  readonly instance: string;
  /** For connection and proof together. Default 5,000. */
  readonly timeoutMs?: number;
  readonly random: Random;
}

export interface ProvenConnection {
  /** Has no listeners, and nothing was read from it beyond the proof. */
  readonly socket: Socket;
  /** The key that the peer holds for sure: sign with it. A newer one may not have reached the peer yet. */
  readonly key: WireKey;
}

/**
 * A keep-alive HTTP/1.1 connection whose peer has proved that it holds the agent's key; nothing of a
 * request is sent to an address before that, because addresses are reused. Throws ConnectFailed
 * or ProofFailed.
 */
export async function connectProven(options: ConnectOptions): Promise<ProvenConnection> {
  const socket = connect(parseAddress(options.address));
  socket.setNoDelay(true);
  // A machine that died says nothing: whoever waits for an answer hears of it within half a minute.
  socket.setKeepAlive(true, keepAliveMs);
  const limit = options.timeoutMs ?? 5_000;
  const timer = setTimeout(() => socket.destroy(new Error(`no proof within ${limit} ms`)), limit);
  try {
    await opened(socket, options.address);
    return { socket, key: await demandProof(socket, options) };
  } catch (error) {
    socket.on('error', () => undefined);
    socket.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

const keepAliveMs = 15_000;

/** Splits an endpoint's address for node:net. Throws ConnectFailed when it is neither form. */
export function parseAddress(address: string): { path: string } | { host: string; port: number } {
  if (address.startsWith('unix:')) return { path: address.slice('unix:'.length) };
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(address);
  const host = match?.[1] ?? match?.[2];
  if (host === undefined) throw new WireError('ConnectFailed', `"${address}" is no endpoint address`);
  return { host, port: Number(match?.[3]) };
}

function opened(socket: Socket, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error) =>
      reject(new WireError('ConnectFailed', `${address}: ${error.message}`, { cause: error }));
    socket.once('error', fail);
    socket.once('connect', () => {
      socket.off('error', fail);
      resolve();
    });
  });
}

async function demandProof(socket: Socket, options: ConnectOptions): Promise<WireKey> {
  const nonce = options.random.bytes(32).toString('base64url');
  const target = `${proofPath}${challengeQuery(nonce, options.keys)}`;
  socket.write(`GET ${target} HTTP/1.1\r\nHost: agent\r\nAccept: application/json\r\n\r\n`);
  const answer = parseBody(await readAnswer(socket));
  const key = provenKey(answer, options.keys, { instance: options.instance, nonce });
  if (key !== undefined) return key;
  throw new WireError('ProofFailed', `${options.address} does not hold the key of ${options.instance}`);
}

const longestAnswer = 4096;

/**
 * Reads one small answer; its body's text. By `readable`, not `data`: when that listener goes the stream is as if
 * never read, so that whoever gets the socket next may read it either way.
 */
function readAnswer(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    const reader = new AnswerReader('GET', {
      interim: () => undefined,
      head: checkHead,
      data: (chunk) => parts.push(chunk),
    });
    let received = 0;
    const finish = (outcome: () => void) => {
      socket.off('readable', onReadable).off('error', onError).off('close', onClose);
      outcome();
    };
    const fail = (problem: string) =>
      finish(() => reject(new WireError('ProofFailed', `the challenge failed: ${problem}`)));
    const onError = (error: Error) => fail(messageOf(error));
    const onClose = () => fail('the connection closed');
    const onReadable = () => {
      const chunk: Buffer | null = socket.read();
      if (chunk === null) return;
      received += chunk.length;
      if (received > longestAnswer) return fail('the answer is too long');
      try {
        reader.push(chunk);
      } catch (error) {
        return fail(messageOf(error));
      }
      if (reader.done) finish(() => resolve(Buffer.concat(parts).toString('utf8')));
    };
    socket.on('readable', onReadable).on('error', onError).on('close', onClose);
  });
}

function checkHead({ status, keepAlive }: AnswerHead): void {
  if (status !== 200) throw new Error(`answered ${status}`);
  if (!keepAlive) throw new Error('the connection is not kept alive');
}

function parseBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
