import type { IncomingMessage, ServerResponse } from 'node:http';
import { endWith } from './write-long.ts';

/** What answers at one place of its own: everything that neither speaks MCP nor is an agent's HTTP API. */
export interface Page {
  /** As internal paths are; see paths.ts. */
  readonly at: string;
  readonly methods: readonly string[];
  /** Whatever it throws or rejects with becomes the answer. No page reads a body. */
  serve(request: IncomingMessage, response: ServerResponse): void | Promise<void>;
}

export type PageHeaders = Readonly<Record<string, string>>;

export function writeText(
  response: ServerResponse,
  status: number,
  text: string,
  headers: PageHeaders = {},
): void {
  if (response.destroyed) return;
  const about = { 'content-type': 'text/plain; charset=utf-8', 'content-length': Buffer.byteLength(text) };
  response.writeHead(status, { ...about, ...headers });
  endWith(response, text, 'utf8');
}

export function writeNotFound(response: ServerResponse): void {
  writeText(response, 404, 'Not Found');
}
