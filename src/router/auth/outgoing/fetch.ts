import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import type { Clock } from '#kit/clock.ts';
import { messageOf } from '#kit/errors.ts';
import { OutgoingError } from './errors.ts';
import { allowedAddresses, checkUrl, hostOf, type OutgoingRules, portOf } from './rules.ts';

export interface OutgoingOptions {
  readonly rules: OutgoingRules;
  readonly clock: Clock;
  /** Every address of a name. */
  readonly resolve: (name: string) => Promise<readonly string[]>;
  /** Milliseconds for a whole exchange. Default: 5,000. */
  readonly timeoutMs?: number;
}

export interface OutgoingInit {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A string or URLSearchParams. */
  readonly body?: unknown;
}

/** The part of fetch that identity providers are asked with. `ca`: PEM, in place of the public authorities. */
export interface Outgoing {
  fetch(url: string, init?: OutgoingInit, ca?: string): Promise<Response>;
}

const longestAnswer = 512 * 1024;
const longestHead = 16 * 1024;
const mostAtOnce = 64;

/**
 * Requests of the router's own to URLs that authors of Agents and Routes wrote, and to those that the answers name.
 * The address that was checked is the one that is connected to, so no name can be bound anew between the two.
 * Redirects are answers like others. Rejects with OutgoingError.
 */
export function createOutgoing({ rules, clock, resolve, timeoutMs = 5_000 }: OutgoingOptions): Outgoing {
  let running = 0;

  function exchange(url: URL, init: OutgoingInit, ca: string | undefined): Promise<Response> {
    const { method = 'GET', headers = {}, body } = init;
    const text = body === undefined || body === null ? undefined : String(body);
    const send = url.protocol === 'http:' ? httpRequest : httpsRequest;
    return new Promise((settle, reject) => {
      const outgoing = send({
        agent: false,
        host: hostOf(url),
        port: portOf(url),
        path: `${url.pathname}${url.search}`,
        method,
        maxHeaderSize: longestHead,
        lookup: lookupFor(url, rules, resolve),
        headers: {
          ...headers,
          host: url.host,
          'accept-encoding': 'identity',
          connection: 'close',
          ...(text === undefined ? {} : { 'content-length': String(Buffer.byteLength(text)) }),
        },
        ...(ca !== undefined && { ca }),
      });
      const cancel = clock.after(timeoutMs, () => {
        const late = `${url.host} did not answer within ${timeoutMs} ms`;
        outgoing.destroy(new OutgoingError('OutgoingUnreachable', late));
      });
      outgoing.once('close', cancel);
      outgoing.on('error', (error) => reject(asOutgoing(url, error)));
      outgoing.once('response', (incoming) => {
        readAnswer(incoming, url).then(settle, (error: unknown) => {
          outgoing.destroy();
          reject(asOutgoing(url, error));
        });
      });
      outgoing.end(text);
    });
  }

  return {
    async fetch(address, init = {}, ca) {
      const url = checkUrl(address, rules);
      if (running >= mostAtOnce) {
        throw new OutgoingError('OutgoingUnreachable', 'too many providers are being asked at once');
      }
      running += 1;
      try {
        return await exchange(url, init, ca);
      } finally {
        running -= 1;
      }
    },
  };
}

function lookupFor(url: URL, rules: OutgoingRules, resolve: OutgoingOptions['resolve']): LookupFunction {
  return (name, options, callback) => {
    resolve(name)
      .then((found) => allowedAddresses(url, found, rules))
      .then(
        (addresses) => {
          const all = addresses.map((address) => ({ address, family: isIP(address) }));
          const [first] = all;
          if (options.all === true) callback(null, all);
          else callback(null, first?.address ?? '', first?.family);
        },
        (error: unknown) => callback(error as Error, ''),
      );
  };
}

function asOutgoing(url: URL, error: unknown): OutgoingError {
  if (error instanceof OutgoingError) return error;
  const what = `${url.host} cannot be reached (${messageOf(error)})`;
  return new OutgoingError('OutgoingUnreachable', what, { cause: error });
}

async function readAnswer(incoming: IncomingMessage, url: URL): Promise<Response> {
  const { statusCode: status = 0 } = incoming;
  if (!['identity', undefined].includes(incoming.headers['content-encoding'])) {
    throw new OutgoingError('OutgoingAnswer', `${url.host} answers compressed without being asked to`);
  }
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of incoming as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > longestAnswer) {
      throw new OutgoingError('OutgoingAnswer', `${url.host} answers more than ${longestAnswer} bytes`);
    }
    parts.push(part);
  }
  const headers = new Headers();
  for (const [name, values] of Object.entries(incoming.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  const isEmpty = size === 0 || status === 204 || status === 304;
  return new Response(isEmpty ? null : Buffer.concat(parts), { status, headers });
}
