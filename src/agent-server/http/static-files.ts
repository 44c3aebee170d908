import { realpath } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join, sep } from 'node:path';
import { bindStatic } from '#wire/binding.ts';
import { type OpenFile, openInside } from '../files/open-beneath.ts';
import { select } from '../files/preconditions.ts';
import { sendRange } from '../files/send-range.ts';
import type { Guard } from '../mcp/guard.ts';
import { allowOnly, type Handler, sendPlain } from './app.ts';

/** Only what pages are made of is served; everything else of the code folder is none of a browser's business. */
const types: ReadonlyMap<string, string> = new Map([
  ['.html', 'text/html; charset=utf-8'],
  ['.htm', 'text/html; charset=utf-8'],
  ['.css', 'text/css; charset=utf-8'],
  ['.js', 'text/javascript; charset=utf-8'],
  ['.mjs', 'text/javascript; charset=utf-8'],
  ['.map', 'application/json'],
  ['.json', 'application/json'],
  ['.webmanifest', 'application/manifest+json'],
  ['.txt', 'text/plain; charset=utf-8'],
  ['.md', 'text/markdown; charset=utf-8'],
  ['.csv', 'text/csv; charset=utf-8'],
  ['.xml', 'application/xml'],
  ['.svg', 'image/svg+xml'],
  ['.png', 'image/png'],
  ['.jpg', 'image/jpeg'],
  ['.jpeg', 'image/jpeg'],
  ['.gif', 'image/gif'],
  ['.webp', 'image/webp'],
  ['.avif', 'image/avif'],
  ['.ico', 'image/x-icon'],
  ['.woff', 'font/woff'],
  ['.woff2', 'font/woff2'],
  ['.ttf', 'font/ttf'],
  ['.otf', 'font/otf'],
  ['.wasm', 'application/wasm'],
  ['.pdf', 'application/pdf'],
  ['.mp3', 'audio/mpeg'],
  ['.mp4', 'video/mp4'],
  ['.webm', 'video/webm'],
]);

const prefix = '/static/';
const hiddenFolders = new Set(['node_modules', '__pycache__']);
const hiddenFiles = /^(manifest|mcp-config|tsconfig|npm-shrinkwrap|package[^/]*)\.json$/i;
const pageTypes = new Set(['.html', '.htm', '.json', '.md', '.txt']);

/** GET|HEAD /static/<path>: one file below the code folder. */
export function staticFiles({ guard, folder }: { readonly guard: Guard; readonly folder: string }): Handler {
  return async (request, response, { path }) => {
    if (!allowOnly(request, response, 'GET', 'HEAD')) return;
    guard.admit(request, bindStatic(path));
    const wanted = safePath(path.slice(prefix.length));
    const file = wanted === undefined ? undefined : await openServable(folder, wanted);
    if (wanted === undefined || file === undefined) sendPlain(response, 404, 'Not Found');
    else await sendFile(request, response, file, wanted).finally(() => file.handle.close());
  };
}

/** The path below the folder, or undefined for one that must not be served, whatever is there. */
export function safePath(encoded: string): string | undefined {
  const path = decode(encoded);
  if (path === undefined || path === '' || path.length > 1024) return undefined;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that they are there is what is looked for
  if (/[\0-\x1f\x7f\\]|\/\/|%/.test(path)) return undefined;
  const parts = path.split('/');
  if (parts.some((part) => part === '' || part.startsWith('.') || hiddenFolders.has(part))) return undefined;
  const name = parts.at(-1) ?? '';
  return types.has(extname(name).toLowerCase()) && !hiddenFiles.test(name) ? path : undefined;
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** A volume that a kubelet fills has its files one hidden folder deeper, and this link to that folder. */
const publishedLink = '..data';

/** A link may lead to another place inside the folder, if that place may be served too. */
function openServable(folder: string, path: string): Promise<OpenFile | undefined> {
  return openInside(folder, path, async (real, root) => {
    const published = await realpath(join(root, publishedLink)).catch(() => undefined);
    const inner = published?.startsWith(root + sep) ? `${published.slice(root.length + 1)}${sep}` : undefined;
    return isServable(inner !== undefined && real.startsWith(inner) ? real.slice(inner.length) : real);
  });
}

function isServable(path: string): boolean {
  return safePath(path.split(sep).map(encodeURIComponent).join('/')) !== undefined;
}

async function sendFile(
  request: IncomingMessage,
  response: ServerResponse,
  { handle, stats }: OpenFile,
  path: string,
): Promise<void> {
  const extension = extname(path).toLowerCase();
  const { size, mtimeMs } = stats;
  const etag = `"${size.toString(36)}-${Math.floor(mtimeMs).toString(36)}"`;
  const { status, range } = select(request.headers, { etag, modified: mtimeMs, size });
  response.setHeader('etag', etag);
  response.setHeader('last-modified', new Date(mtimeMs).toUTCString());
  response.setHeader('accept-ranges', 'bytes');
  response.setHeader('cache-control', pageTypes.has(extension) ? 'max-age=60' : 'max-age=300');
  response.setHeader('x-content-type-options', 'nosniff');
  if (status === 206) response.setHeader('content-range', `bytes ${range.start}-${range.end - 1}/${size}`);
  if (status === 416) response.setHeader('content-range', `bytes */${size}`);
  if (status === 200 || status === 206) {
    const type = types.get(extension) ?? 'application/octet-stream';
    response.writeHead(status, { 'content-type': type, 'content-length': range.end - range.start });
  } else response.writeHead(status, status === 304 ? {} : { 'content-length': 0 });
  if (request.method === 'HEAD' || range.start === range.end) response.end();
  else await sendRange(handle, range, response);
}
