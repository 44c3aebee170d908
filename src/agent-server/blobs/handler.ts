import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { bindBlob } from '#wire/binding.ts';
import { type BlobInfo, blobsPath, isBlobId } from '#wire/blobs.ts';
import { attachment, nameIn, nameOf } from '../files/disposition.ts';
import { select } from '../files/preconditions.ts';
import { allowOnly, type Handler, sendObject, sendPlain, type Target } from '../http/app.ts';
import type { Guard } from '../mcp/guard.ts';
import { BlobError, statusOfProblem } from './errors.ts';
import type { BlobLimits } from './limits.ts';
import { readMime } from './metadata.ts';
import type { BlobStore, FoundBlob, Upload } from './store.ts';

export interface BlobsHandlerOptions {
  readonly store: BlobStore;
  readonly limits: BlobLimits;
  readonly guard: Guard;
  /** All replicas have the same; a list says so. */
  readonly shared?: boolean;
}

/** Header in which a router says where clients find the agent's blobs. */
export const blobsUrlHeader = 'x-ploinky-blobs-url';

/** POST /blobs takes one, GET /blobs lists, GET|HEAD|DELETE /blobs/<id> is about one (Ploinky contract, §7). */
export function blobsHandler(options: BlobsHandlerOptions): Handler {
  return async (request, response, target) => {
    options.guard.admit(request, bindBlob(request.method ?? '', target.path, target.search));
    try {
      await serve(options, request, response, target);
    } catch (error) {
      refuse(request, response, error);
    }
  };
}

async function serve(
  { store, limits, shared }: BlobsHandlerOptions,
  request: IncomingMessage,
  response: ServerResponse,
  { path, search }: Target,
): Promise<void> {
  const id = path.slice(blobsPath.length + 1);
  if (id === '') {
    if (!allowOnly(request, response, 'POST', 'GET', 'HEAD')) return;
    if (request.method === 'POST') await take(store, limits, request, response, search);
    else await list(store, response, new URLSearchParams(search), shared);
  } else if (!isBlobId(id)) sendPlain(response, 400, 'Bad id');
  else if (!allowOnly(request, response, 'GET', 'HEAD', 'DELETE')) return;
  else if (request.method === 'DELETE') {
    if (await store.remove(id)) response.writeHead(204).end();
    else sendPlain(response, 404, 'Not Found');
  } else await give(store, request, response, id);
}

async function take(
  store: BlobStore,
  limits: BlobLimits,
  request: IncomingMessage,
  response: ServerResponse,
  search: string,
): Promise<void> {
  const upload = readUpload(request.headers, search, limits);
  if (typeof upload === 'string') {
    refuse(request, response, new BlobError('Broken', upload));
    return;
  }
  const info = await store.put(upload, request);
  sendObject(response, 201, told(info, upload.url));
}

/** Text: why it cannot be. */
function readUpload(headers: IncomingHttpHeaders, search: string, limits: BlobLimits): Upload | string {
  const query = new URLSearchParams(search);
  const ttl = query.get('ttl') ?? String(limits.ttlSeconds);
  if (!/^\d{1,9}$/.test(ttl)) return 'ttl is a number of seconds';
  const sha256 = readDigest(headerOf(headers, 'repr-digest') ?? headerOf(headers, 'content-digest'));
  if (sha256 === null) return 'the digest must be sha-256=:BASE64: (RFC 9530)';
  const length = headers['content-length'];
  const named = headerOf(headers, 'x-file-name') ?? headerOf(headers, 'x-filename');
  const said = Number(ttl);
  const longest = limits.ttlSeconds;
  return {
    mime: readMime(headerOf(headers, 'x-mime-type') ?? headers['content-type']),
    filename: nameOf(named) ?? nameIn(headers['content-disposition']),
    bytes: length === undefined ? undefined : Number(length),
    // Where the Agent sets a time, nothing stays longer.
    ttlSeconds: longest > 0 ? Math.min(said === 0 ? longest : said, longest) : said,
    sha256,
    url: headerOf(headers, blobsUrlHeader),
  };
}

/** Hex; undefined: none is said; null: it cannot be read. */
function readDigest(header: string | undefined): string | undefined | null {
  if (header === undefined) return undefined;
  const text = /(?:^|,)\s*sha-256=:([A-Za-z0-9+/]{43}=):/.exec(header)?.[1];
  return text === undefined ? null : Buffer.from(text, 'base64').toString('hex');
}

function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function told(info: BlobInfo, url: string | undefined): object {
  return { ...info, ...(url !== undefined && { downloadUrl: `${url}/${info.id}` }) };
}

async function list(
  store: BlobStore,
  response: ServerResponse,
  query: URLSearchParams,
  shared = false,
): Promise<void> {
  const limit = Number(query.get('limit') ?? 100);
  const after = query.get('after') ?? '';
  if (!Number.isInteger(limit) || limit < 1 || limit > 1000 || (after !== '' && !isBlobId(after))) {
    sendObject(response, 400, { error: 'limit is a number from 1 to 1000, after an id' });
    return;
  }
  const [page, usage] = await Promise.all([store.list(limit, after), store.usage()]);
  response.setHeader('cache-control', 'no-store');
  sendObject(response, 200, { ...page, usage, ...(shared && { shared }) });
}

async function give(
  store: BlobStore,
  request: IncomingMessage,
  response: ServerResponse,
  id: string,
): Promise<void> {
  const found = await store.find(id);
  if (found === undefined) {
    sendPlain(response, 404, 'Not Found');
    return;
  }
  try {
    await send(found, request, response);
  } finally {
    await found.close();
  }
}

async function send(found: FoundBlob, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { validators, info } = found;
  const { status, range } = select(request.headers, validators);
  for (const [name, value] of headersOf(found)) response.setHeader(name, value);
  if (status === 206)
    response.setHeader('content-range', `bytes ${range.start}-${range.end - 1}/${validators.size}`);
  if (status === 416) response.setHeader('content-range', `bytes */${validators.size}`);
  if (status === 200 || status === 206) {
    response.setHeader('content-type', info.mime);
    response.setHeader('content-length', range.end - range.start);
  } else if (status !== 304) response.setHeader('content-length', 0);
  response.writeHead(status);
  if (request.method === 'HEAD' || range.start === range.end) response.end();
  else await found.send(range, response);
}

/** Whatever it is, a browser saves it: what somebody uploaded runs nowhere, and is no page of this site. */
function headersOf({ info, validators }: FoundBlob): [string, string][] {
  return [
    ['accept-ranges', 'bytes'],
    ['etag', validators.etag],
    ['last-modified', new Date(validators.modified).toUTCString()],
    ['cache-control', 'private, no-cache'],
    ['content-disposition', attachment(info.filename)],
    ['x-content-type-options', 'nosniff'],
    ['content-security-policy', "default-src 'none'; sandbox"],
    ['cross-origin-resource-policy', 'same-origin'],
  ];
}

/**
 * What is left of an upload is read for nobody: a connection that is closed with bytes unread is reset, and the answer
 * may be lost. Routers close it when they have the answer.
 */
function refuse(request: IncomingMessage, response: ServerResponse, error: unknown): void {
  if (!(error instanceof BlobError)) throw error;
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  request.resume();
  const { code, message, remedy } = error;
  sendObject(response, statusOfProblem[code], {
    error: code,
    message,
    ...(remedy !== undefined && { remedy }),
  });
}
