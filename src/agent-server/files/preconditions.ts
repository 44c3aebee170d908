import type { IncomingHttpHeaders } from 'node:http';
import { type ByteRange, readRange } from './byte-range.ts';

/** What a client may ask about a file before it takes it. */
export interface Validators {
  /** With its quotes; strong. */
  readonly etag: string;
  /** Milliseconds since the epoch. */
  readonly modified: number;
  readonly size: number;
}

export interface Selected {
  readonly status: 200 | 206 | 304 | 412 | 416;
  readonly range: ByteRange;
}

const nothing: ByteRange = { start: 0, end: 0 };

/** Which part of a file answers a GET or HEAD with these headers (RFC 9110 §13.2.2, §14.2). Pure. */
export function select(headers: IncomingHttpHeaders, file: Validators): Selected {
  const early = precondition(headers, file);
  if (early !== undefined) return { status: early, range: nothing };
  const range = allowsRange(headers['if-range'], file) ? readRange(headers.range, file.size) : undefined;
  if (range === 'unsatisfiable') return { status: 416, range: nothing };
  if (range === undefined) return { status: 200, range: { start: 0, end: file.size } };
  return { status: 206, range };
}

function precondition(headers: IncomingHttpHeaders, file: Validators): 304 | 412 | undefined {
  const match = headers['if-match'];
  const unmodified = timeOf(headers['if-unmodified-since']);
  if (match !== undefined && !names(match, file.etag, true)) return 412;
  if (match === undefined && unmodified !== undefined && seconds(file.modified) > unmodified) return 412;
  const noneMatch = headers['if-none-match'];
  if (noneMatch !== undefined) return names(noneMatch, file.etag, false) ? 304 : undefined;
  const since = timeOf(headers['if-modified-since']);
  return since !== undefined && seconds(file.modified) <= since ? 304 : undefined;
}

/** Without If-Range any; with one that another version is meant by, none. */
function allowsRange(header: string | string[] | undefined, file: Validators): boolean {
  if (typeof header !== 'string') return true;
  if (header.startsWith('"')) return header.trim() === file.etag;
  if (header.startsWith('W/')) return false;
  return timeOf(header) === seconds(file.modified);
}

function names(header: string, etag: string, strongly: boolean): boolean {
  if (header.trim() === '*') return true;
  const tags = header.match(/(?:W\/)?"[^"]*"/g) ?? [];
  return tags.some((tag) => (strongly ? tag : tag.replace(/^W\//, '')) === etag);
}

/** Whole seconds, because dates of HTTP have no parts of them. */
function seconds(time: number): number {
  return Math.floor(time / 1000);
}

function timeOf(header: string | undefined): number | undefined {
  const time = header === undefined ? Number.NaN : Date.parse(header);
  return Number.isNaN(time) ? undefined : seconds(time);
}
