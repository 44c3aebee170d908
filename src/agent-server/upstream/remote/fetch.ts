import { type Agent, type IncomingMessage, request } from 'node:http';
import type { Clock } from '#kit/clock.ts';
import { AgentServerError } from '../../errors.ts';

export interface FetchInit {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: string | URLSearchParams | undefined | null;
}

export type Fetch = (url: string, init: FetchInit) => Promise<Response>;

export interface FetchOptions {
  readonly agents: Readonly<Record<'http:' | 'https:', Agent>>;
  readonly clock: Clock;
  /** Milliseconds for the whole exchange. */
  readonly timeoutMs: number;
}

const maxBytes = 1024 * 1024;

/** The part of fetch that an authorization server is asked with. Redirects are answers like others. */
export function fetchOver({ agents, clock, timeoutMs }: FetchOptions): Fetch {
  return (address, { method, headers, body }) => {
    const url = new URL(address);
    const text = body?.toString();
    return new Promise((resolve, reject) => {
      const outgoing = request({
        agent: agents[url.protocol === 'http:' ? 'http:' : 'https:'],
        host: hostOf(url),
        port: portOf(url),
        path: `${url.pathname}${url.search}`,
        method,
        headers: {
          ...headers,
          host: url.host,
          ...(text === undefined ? {} : { 'content-length': String(Buffer.byteLength(text)) }),
        },
      });
      const late = () =>
        new AgentServerError('UpstreamTimeout', `${url.host} did not answer within ${timeoutMs} ms`);
      const cancel = clock.after(timeoutMs, () => outgoing.destroy(late()));
      outgoing.once('close', cancel);
      outgoing.once('error', reject);
      outgoing.once('response', (incoming) => {
        readAnswer(incoming, url).then(resolve, reject);
      });
      outgoing.end(text);
    });
  };
}

async function readAnswer(incoming: IncomingMessage, url: URL): Promise<Response> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of incoming as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > maxBytes)
      throw new AgentServerError('UpstreamInvalid', `${url.host} answers more than ${maxBytes} bytes`);
    parts.push(part);
  }
  const { statusCode: status = 0 } = incoming;
  const headers = new Headers();
  for (const [name, values] of Object.entries(incoming.headersDistinct))
    for (const value of values ?? []) headers.append(name, value);
  const isEmpty = size === 0 || status === 204 || status === 304;
  return new Response(isEmpty ? null : Buffer.concat(parts), { status, headers });
}

/** The host without the brackets of an IPv6 address. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
}

export function portOf({ port, protocol }: URL): number {
  return Number(port) || (protocol === 'https:' ? 443 : 80);
}
