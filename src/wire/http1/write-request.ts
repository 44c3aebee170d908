import { HttpError, type HttpRequest } from './message.ts';

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const badTarget = /[^\u0021-\u007e\u0080-\u00ff]/;
const badValue = /[^\t\u0020-\u007e\u0080-\u00ff]/;

/** What the connection says of itself, and what nobody may say in its place: two lengths are two messages. */
const framing = new Set(['connection', 'transfer-encoding', 'upgrade', 'keep-alive', 'expect', 'host', 'te']);

export type Framing =
  | { readonly kind: 'none' | 'chunked' }
  | { readonly kind: 'length'; readonly bytes: number };

export interface WrittenHead {
  /** With the empty line; each character is one byte. */
  readonly text: string;
  readonly framing: Framing;
}

/** Throws HttpError `Unsendable` for what would be another message than the one that is meant. */
export function writeHead({ method, path, headers, body }: HttpRequest): WrittenHead {
  if (!token.test(method)) throw unsendable('invalid request method');
  if (path === '' || badTarget.test(path)) throw unsendable('invalid request path');
  let text = `${method} ${path} HTTP/1.1\r\nhost: agent\r\nconnection: keep-alive\r\n`;
  let stated: string | undefined;
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index] ?? '';
    const value = headers[index + 1] ?? '';
    if (name === 'content-length') {
      stated = value;
      continue;
    }
    if (!token.test(name) || framing.has(name)) throw unsendable(`invalid header ${JSON.stringify(name)}`);
    if (badValue.test(value)) throw unsendable(`invalid ${name} header`);
    text += `${name}: ${value}\r\n`;
  }
  const framed = framingOf(method, body, stated);
  if (framed.kind === 'length')
    return { text: `${text}content-length: ${framed.bytes}\r\n\r\n`, framing: framed };
  return {
    text: framed.kind === 'none' ? `${text}\r\n` : `${text}transfer-encoding: chunked\r\n\r\n`,
    framing: framed,
  };
}

function framingOf(method: string, body: HttpRequest['body'], stated: string | undefined): Framing {
  if (body === null) {
    return method === 'POST' || method === 'PUT' || method === 'PATCH'
      ? { kind: 'length', bytes: 0 }
      : { kind: 'none' };
  }
  if (typeof body === 'string' || Buffer.isBuffer(body))
    return { kind: 'length', bytes: Buffer.byteLength(body) };
  if (stated === undefined) return { kind: 'chunked' };
  if (!/^\d{1,15}$/.test(stated)) throw unsendable('invalid content-length header');
  return { kind: 'length', bytes: Number(stated) };
}

function unsendable(problem: string): HttpError {
  return new HttpError('Unsendable', problem);
}
