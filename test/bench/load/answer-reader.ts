/** One HTTP/1.1 answer; `head` is its status line and headers as they came. */
export interface HttpAnswer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/**
 * Cuts the bytes of one keep-alive connection into answers: bodies with a length, chunked ones, and none (202, 204).
 * As little work as can be, because the load must never be what limits a measurement. Throws for anything else.
 */
export class AnswerReader {
  #rest: Buffer = Buffer.alloc(0);

  /** The answers that `chunk` completes. */
  push(chunk: Buffer): HttpAnswer[] {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const answers: HttpAnswer[] = [];
    for (;;) {
      const found = readAnswer(this.#rest);
      if (found === undefined) return answers;
      answers.push(found.answer);
      this.#rest = this.#rest.subarray(found.end);
    }
  }
}

function readAnswer(bytes: Buffer): { answer: HttpAnswer; end: number } | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const head = bytes.toString('latin1', 0, headEnd);
  const status = Number(head.slice(9, 12));
  const start = headEnd + 4;
  const length = headerOf(head, 'content-length');
  if (length !== undefined) {
    const end = start + Number(length);
    if (bytes.length < end) return undefined;
    return { answer: { status, head, body: bytes.toString('utf8', start, end) }, end };
  }
  if (headerOf(head, 'transfer-encoding') === 'chunked') {
    const chunked = readChunks(bytes, start);
    if (chunked === undefined) return undefined;
    return { answer: { status, head, body: chunked.body }, end: chunked.end };
  }
  if (status === 202 || status === 204) return { answer: { status, head, body: '' }, end: start };
  throw new Error(`an answer without a length: ${head.slice(0, 200)}`);
}

function readChunks(bytes: Buffer, start: number): { body: string; end: number } | undefined {
  const parts: string[] = [];
  for (let at = start; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd < 0) return undefined;
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    if (Number.isNaN(size)) throw new Error('a chunk without a size');
    const next = lineEnd + 2 + size + 2;
    if (bytes.length < next) return undefined;
    if (size === 0) return { body: parts.join(''), end: next };
    parts.push(bytes.toString('utf8', lineEnd + 2, next - 2));
    at = next;
  }
}

/** Value of a header; `name` in lower case. */
export function headerOf(head: string, name: string): string | undefined {
  const at = head.toLowerCase().indexOf(`\r\n${name}:`);
  if (at < 0) return undefined;
  const end = head.indexOf('\r\n', at + 2);
  return head.slice(at + name.length + 3, end < 0 ? undefined : end).trim();
}

/** The JSON of an answer: its body, or the last `data` of an event stream. */
export function jsonText({ head, body }: HttpAnswer): string {
  if (!(headerOf(head, 'content-type') ?? '').startsWith('text/event-stream')) return body;
  const at = body.lastIndexOf('\ndata:');
  const from = at < 0 ? (body.startsWith('data:') ? 5 : body.length) : at + 6;
  const end = body.indexOf('\n', from);
  return body.slice(from, end < 0 ? undefined : end).trim();
}
