import { constants } from 'node:fs';
import { type FileHandle, open, readlink, realpath } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { bindStatic } from '#wire/binding.ts';
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
    const file = wanted === undefined ? undefined : await openInside(folder, wanted);
    if (wanted === undefined || file === undefined) sendPlain(response, 404, 'Not Found');
    else await sendFile(request, response, file, wanted);
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

/**
 * Opens first and asks afterwards where the opened file really is, so that a link that is swapped meanwhile
 * leads nowhere. A link may lead to another place inside the folder, if that place may be served too.
 */
async function openInside(folder: string, path: string): Promise<FileHandle | undefined> {
  const flags = constants.O_RDONLY | constants.O_NONBLOCK;
  const file = await open(join(folder, path), flags).catch(() => undefined);
  if (file === undefined) return undefined;
  const real = await realPathOf(file, join(folder, path));
  const below = real === undefined ? undefined : await pathBelow(folder, real);
  if (below !== undefined && isServable(below) && (await file.stat()).isFile()) return file;
  await file.close();
  return undefined;
}

/** A volume that a kubelet fills has its files one hidden folder deeper, and this link to that folder. */
const publishedLink = '..data';

/** Where a real path is below the folder; undefined when it is elsewhere. */
async function pathBelow(folder: string, real: string): Promise<string | undefined> {
  const [root, published] = await Promise.all(
    [folder, join(folder, publishedLink)].map((path) => realpath(path).catch(() => undefined)),
  );
  if (root === undefined || !real.startsWith(root + sep)) return undefined;
  const inner = published?.startsWith(root + sep) ? published : root;
  return real.slice((real.startsWith(inner + sep) ? inner : root).length + 1);
}

function isServable(path: string): boolean {
  return safePath(path.split(sep).map(encodeURIComponent).join('/')) !== undefined;
}

async function realPathOf(file: FileHandle, path: string): Promise<string | undefined> {
  return readlink(`/proc/self/fd/${file.fd}`).catch(() => realpath(path).catch(() => undefined));
}

async function sendFile(
  request: IncomingMessage,
  response: ServerResponse,
  file: FileHandle,
  path: string,
): Promise<void> {
  const extension = extname(path).toLowerCase();
  const { size, mtimeMs } = await file.stat();
  const etag = `"${size.toString(36)}-${Math.floor(mtimeMs).toString(36)}"`;
  response.setHeader('etag', etag);
  response.setHeader('cache-control', pageTypes.has(extension) ? 'max-age=60' : 'max-age=300');
  response.setHeader('x-content-type-options', 'nosniff');
  if (request.headers['if-none-match'] === etag) {
    response.writeHead(304).end();
    await file.close();
    return;
  }
  response.writeHead(200, {
    'content-type': types.get(extension) ?? 'application/octet-stream',
    'content-length': size,
  });
  if (request.method === 'HEAD' || size === 0) {
    response.end();
    await file.close();
    return;
  }
  // Never more than was promised, even if the file grows meanwhile.
  const content = file.createReadStream({ start: 0, end: size - 1, highWaterMark: 1024 * 1024 });
  await pipeline(content, response).catch(() => response.destroy());
}
