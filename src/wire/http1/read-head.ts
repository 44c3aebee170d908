import { HttpError, type HttpHeaders } from './message.ts';

/** How the body of an answer ends (RFC 9112 §6.3). */
export type BodyEnd =
  | { readonly kind: 'length'; readonly bytes: number }
  | { readonly kind: 'chunked' }
  | { readonly kind: 'close' };

export interface AnswerHead {
  readonly status: number;
  readonly headers: HttpHeaders;
  readonly body: BodyEnd;
  /** The connection may take another request after this answer. */
  readonly keepAlive: boolean;
  /** Seconds for which the peer keeps an idle connection, where it says so. */
  readonly keepAliveSeconds: number | undefined;
}

const statusLine = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: [\t\u0020-\u007e\u0080-\u00ff]*)?$/;
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const badValue = /[^\t\u0020-\u007e\u0080-\u00ff]/;
const upper = /[A-Z]/;

/**
 * The head of an answer, without its empty line. Strict where readers differ, since two readings of one answer are
 * two answers: no folded lines, no space before a colon, one length at most and none beside chunks.
 * Throws HttpError `Malformed`.
 */
export function readHead(text: string, method: string): AnswerHead {
  const lines = text.split('\r\n');
  const first = statusLine.exec(lines[0] ?? '');
  if (first === null) throw malformed('the status line');
  const status = Number(first[2]);
  const headers: Record<string, string | string[]> = Object.create(null);
  for (let index = 1; index < lines.length; index += 1) addHeader(headers, lines[index] ?? '');
  const connection = headers['connection'];
  const named = connection === undefined ? '' : String(connection).toLowerCase();
  const keeps = first[1] === '1' ? !named.includes('close') : named.includes('keep-alive');
  const body = bodyEnd(status, headers, method);
  return {
    status,
    headers,
    body,
    keepAlive: keeps && body.kind !== 'close',
    keepAliveSeconds: secondsOf(headers['keep-alive']),
  };
}

function addHeader(headers: Record<string, string | string[]>, line: string): void {
  const colon = line.indexOf(':');
  const name = line.slice(0, colon);
  if (colon < 1 || !token.test(name)) throw malformed('a header line');
  const value = line.slice(colon + 1).trim();
  if (badValue.test(value)) throw malformed(`the value of ${name}`);
  const key = upper.test(name) ? name.toLowerCase() : name;
  const known = headers[key];
  if (known === undefined) headers[key] = value;
  else if (key === 'content-length' || key === 'transfer-encoding') throw malformed(`two of ${key}`);
  else if (Array.isArray(known)) known.push(value);
  else headers[key] = [known, value];
}

function bodyEnd(status: number, headers: Record<string, string | string[]>, method: string): BodyEnd {
  const length = headers['content-length'];
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && length !== undefined) throw malformed('a length beside chunks');
  if (length !== undefined && !/^\d{1,15}$/.test(String(length))) throw malformed('the length');
  if (method === 'HEAD' || status < 200 || status === 204 || status === 304)
    return { kind: 'length', bytes: 0 };
  if (coding !== undefined) {
    if (String(coding).toLowerCase() !== 'chunked') throw malformed('the transfer coding');
    return { kind: 'chunked' };
  }
  return length === undefined ? { kind: 'close' } : { kind: 'length', bytes: Number(length) };
}

function secondsOf(keepAlive: string | string[] | undefined): number | undefined {
  if (keepAlive === undefined) return undefined;
  const found = /(?:^|[,\s])timeout=(\d{1,9})/i.exec(String(keepAlive))?.[1];
  return found === undefined ? undefined : Number(found);
}

export function malformed(what: string): HttpError {
  return new HttpError('Malformed', `the answer is no HTTP: ${what}`);
}
