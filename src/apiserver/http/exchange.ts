import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ApiError, badRequest, type Status } from '../api-error.ts';

/** One request and its answer. */
export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.request = request;
    this.response = response;
    this.method = request.method ?? 'GET';
    const url = request.url ?? '/';
    const mark = url.indexOf('?');
    this.path = mark < 0 ? url : url.slice(0, mark);
    this.query = new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1));
  }

  /** The path's parts, percent-decoded. Throws 400 when they cannot be. */
  get segments(): string[] {
    return this.path
      .split('/')
      .filter((segment) => segment !== '')
      .map(decodeSegment);
  }

  /** A header as one string; empty when absent. */
  header(name: string): string {
    const value = this.request.headers[name];
    return Array.isArray(value) ? value.join(', ') : (value ?? '');
  }

  /** The media type of the body, without parameters. */
  get contentType(): string {
    return (this.header('content-type').split(';')[0] ?? '').trim().toLowerCase();
  }

  /** Adds a Warning header (RFC 7234 code 299) as the API server writes it. */
  warn(text: string): void {
    this.response.appendHeader('Warning', `299 - ${JSON.stringify(text)}`);
  }

  json(status: number, body: unknown): void {
    this.text(status, 'application/json', typeof body === 'string' ? body : JSON.stringify(body));
  }

  text(status: number, type: string, body: string): void {
    const bytes = Buffer.from(body);
    this.response.writeHead(status, {
      'Content-Type': type,
      'Content-Length': bytes.length,
      'Cache-Control': 'no-cache, private',
    });
    this.response.end(this.method === 'HEAD' ? undefined : bytes);
  }

  fail(error: ApiError): void {
    if (this.response.headersSent) {
      this.response.destroy();
      return;
    }
    const retry = error.details?.retryAfterSeconds;
    if (retry !== undefined) this.response.setHeader('Retry-After', String(retry));
    if (!this.request.complete) this.response.setHeader('Connection', 'close');
    this.json(error.httpStatus, error.status() satisfies Status);
  }
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw badRequest('the path is not well-formed: a percent sign must begin an escape');
  }
}
