import { unlinkSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { type FakeObject, FakeStore, Refusal, type StoredEvent } from './fake-store.ts';

export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete';

/** What goes wrong with one request. */
export type Fault =
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly retryAfter?: number;
      readonly body?: unknown;
    }
  /** Ends the connection without an answer; a watch is accepted, sends half an event, then is cut. */
  | { readonly kind: 'cut' }
  /** Never answers; a watch is accepted and then sends nothing, whatever happens. */
  | { readonly kind: 'silence' }
  /** A watch that ends cleanly at once, or after `afterMs` of real time. */
  | { readonly kind: 'close'; readonly afterMs?: number }
  /** A watch that answers 200 and sends an ERROR event with this status, then ends. */
  | { readonly kind: 'in-band'; readonly status: number }
  /** A watch that first sends all history again, newest first when `reverse`, then goes on as usual. */
  | { readonly kind: 'replay'; readonly reverse?: boolean }
  /** A line that is not JSON, then a clean end. */
  | { readonly kind: 'garbage' };

export interface RequestRecord {
  readonly verb: Verb;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
  /** `now()` of the options when it came. */
  readonly at: number;
  status: number;
}

export interface FakeApiOptions {
  /** Unix socket path; else a free port on 127.0.0.1. */
  readonly socketPath?: string;
  /** Time stamp of request records. Default 0. */
  readonly now?: () => number;
}

interface Parsed {
  readonly collection: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
}

/** A Kubernetes-like API over real HTTP whose faults are scripted; honest about versions, conflicts and history. */
export class FakeApi {
  readonly requests: RequestRecord[] = [];
  readonly #options: FakeApiOptions;
  readonly #stores = new Map<string, FakeStore>();
  readonly #faults: { readonly matches: (record: RequestRecord) => boolean; fault: Fault; left: number }[] =
    [];
  readonly #sockets = new Set<Socket>();
  readonly #watches = new Set<ServerResponse>();
  #server: Server;
  #version = 0;
  #port = 0;

  constructor(options: FakeApiOptions = {}) {
    this.#options = options;
    this.#server = this.#createServer();
  }

  get address(): string {
    const { socketPath } = this.#options;
    return socketPath === undefined ? `http://127.0.0.1:${this.#port}` : `unix:${socketPath}`;
  }

  async listen(): Promise<void> {
    const { socketPath } = this.#options;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#server.once('error', reject);
    if (socketPath === undefined) this.#server.listen(this.#port, '127.0.0.1', resolve);
    else this.#server.listen(socketPath, resolve);
    await promise;
    if (socketPath === undefined) this.#port = (this.#server.address() as AddressInfo).port;
  }

  /** Ends every connection and the listener; the data stays for a later `listen`. */
  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.cutConnections();
    await closed;
    this.#server = this.#createServer();
    if (this.#options.socketPath !== undefined) {
      try {
        unlinkSync(this.#options.socketPath);
      } catch {
        // Node removes it on close.
      }
    }
  }

  /** The collection as the server has it, e.g. `agents`. */
  store(collection: string): FakeStore {
    let store = this.#stores.get(collection);
    if (store === undefined) {
      store = new FakeStore({ next: () => ++this.#version, current: () => this.#version });
      this.#stores.set(collection, store);
    }
    return store;
  }

  /** Sets the counter back: a server restored from a backup. */
  rewind(version: number): void {
    this.#version = version;
  }

  /** The next `times` requests of `verb` go wrong. Faults of one verb come in the order given. */
  fail(verb: Verb, fault: Fault, times = 1): void {
    this.failWhen((record) => record.verb === verb, fault, times);
  }

  failWhen(matches: (record: RequestRecord) => boolean, fault: Fault, times = 1): void {
    this.#faults.push({ matches, fault, left: times });
  }

  clearFaults(): void {
    this.#faults.length = 0;
  }

  count(verb: Verb): number {
    return this.requests.filter((record) => record.verb === verb).length;
  }

  get openWatches(): number {
    return this.#watches.size;
  }

  cutConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  closeWatches(): void {
    for (const response of this.#watches) response.end();
  }

  /** Sends raw bytes on every open watch. */
  inject(text: string): void {
    for (const response of this.#watches) response.write(text);
  }

  sendBookmarks(): void {
    this.inject(
      line({
        type: 'BOOKMARK',
        object: { kind: 'X', apiVersion: 'v1', metadata: { resourceVersion: String(this.#version) } },
      }),
    );
  }

  #createServer(): Server {
    const server = createServer((request, response) => {
      this.#serve(request, response).catch((error) => response.destroy(error));
    });
    server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
    return server;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://fake');
    const parsed = parsePath(url.pathname);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    const record: RequestRecord = {
      verb: verbOf(request.method ?? 'GET', parsed, url.searchParams),
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body,
      at: this.#options.now?.() ?? 0,
      status: 0,
    };
    this.requests.push(record);
    response.on('finish', () => {
      record.status = response.statusCode;
    });
    const fault = this.#nextFault(record);
    if (fault !== undefined && this.#breaks(fault, record, response)) return;
    try {
      this.#answer(record, parsed, response, fault);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      sendStatus(response, error.status, error.reason, error.message);
    }
  }

  #nextFault(record: RequestRecord): Fault | undefined {
    const found = this.#faults.find((entry) => entry.left > 0 && entry.matches(record));
    if (found === undefined) return undefined;
    found.left -= 1;
    return found.fault;
  }

  /** Applies faults that replace the answer. Returns false when the usual answer is still to be sent. */
  #breaks(fault: Fault, record: RequestRecord, response: ServerResponse): boolean {
    const isWatch = record.verb === 'watch';
    switch (fault.kind) {
      case 'status': {
        if (fault.retryAfter !== undefined) response.setHeader('retry-after', String(fault.retryAfter));
        if (fault.body === undefined) sendStatus(response, fault.status, '', `scripted ${fault.status}`);
        else sendJson(response, fault.status, fault.body);
        return true;
      }
      case 'cut': {
        if (isWatch) response.write('{"type":"ADDED","object":{"metadata":', () => response.destroy());
        else response.destroy();
        return true;
      }
      case 'silence': {
        if (isWatch) response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
        return true;
      }
      case 'close': {
        response.writeHead(200).flushHeaders();
        setTimeout(() => response.end(), fault.afterMs ?? 0);
        return true;
      }
      case 'in-band': {
        const object = {
          kind: 'Status',
          code: fault.status,
          reason: fault.status === 410 ? 'Expired' : 'InternalError',
          message: 'scripted',
        };
        response.end(line({ type: 'ERROR', object }));
        return true;
      }
      case 'garbage':
        response.end('this is not JSON\n');
        return true;
      case 'replay':
        return false;
    }
  }

  #answer(record: RequestRecord, at: Parsed, response: ServerResponse, fault: Fault | undefined): void {
    const store = this.store(at.collection);
    if (record.verb === 'watch') {
      this.#watch(store, at, record.query, response, fault);
      return;
    }
    const status = record.verb === 'create' ? 201 : 200;
    sendJson(response, status, this.#result(store, at, record));
  }

  #result(store: FakeStore, at: Parsed, record: RequestRecord): object {
    const { namespace = '', name = '' } = at;
    const json = (): FakeObject => JSON.parse(record.body);
    switch (record.verb) {
      case 'create':
        return store.create(json());
      case 'get':
        return store.get(namespace, name);
      case 'update':
        return store.change(namespace, name, json);
      case 'patch':
        return applyPatch(store, at, json(), String(record.headers['content-type']));
      case 'delete':
        checkPreconditions(store.get(namespace, name), record.body === '' ? {} : JSON.parse(record.body));
        return store.remove(namespace, name);
      default:
        return this.#list(store, at, record.query);
    }
  }

  #list(store: FakeStore, at: Parsed, query: URLSearchParams): object {
    const token = query.get('continue');
    const [version, offset] = token === null ? [store.version, 0] : token.split('.').map(Number);
    if (version === undefined || offset === undefined || (token !== null && version < store.compactedTo)) {
      throw new Refusal(410, 'Expired', 'the continue token is too old');
    }
    const all = store.list(at.namespace);
    const limit = Number(query.get('limit') ?? 0) || all.length;
    const rest = all.length - offset - limit;
    // As the real API: items of a list carry no apiVersion and kind.
    const items = all.slice(offset, offset + limit).map(({ apiVersion: _a, kind: _k, ...item }) => item);
    const next = rest > 0 ? { continue: `${version}.${offset + limit}`, remainingItemCount: rest } : {};
    return { kind: 'List', apiVersion: 'v1', metadata: { resourceVersion: String(version), ...next }, items };
  }

  #watch(
    store: FakeStore,
    at: Parsed,
    query: URLSearchParams,
    response: ServerResponse,
    fault?: Fault,
  ): void {
    const from = Number(query.get('resourceVersion') ?? store.version);
    if (from < store.compactedTo) throw new Refusal(410, 'Expired', 'too old resource version');
    if (from > this.#version) {
      const details = {
        causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      };
      sendJson(response, 504, {
        kind: 'Status',
        code: 504,
        reason: 'Timeout',
        message: 'Too large resource version',
        details,
      });
      return;
    }
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
    this.#watches.add(response);
    const send = (event: StoredEvent) => {
      if (response.writableEnded || response.destroyed) return;
      if (at.namespace === undefined || event.object.metadata.namespace === at.namespace) {
        response.write(line({ type: event.type, object: event.object }));
      }
    };
    if (fault?.kind === 'replay') (fault.reverse ? store.history.toReversed() : store.history).forEach(send);
    else store.history.filter((event) => event.version > from).forEach(send);
    const unsubscribe = store.subscribe(send);
    response.on('close', () => {
      this.#watches.delete(response);
      unsubscribe();
    });
  }
}

function parsePath(path: string): Parsed {
  const parts = path
    .split('/')
    .filter((part) => part !== '')
    .map(decodeURIComponent);
  const rest = parts.slice(parts[0] === 'api' ? 2 : 3);
  const namespaced = rest[0] === 'namespaces' && rest.length > 2;
  const [collection = '', name, subresource] = namespaced ? rest.slice(2) : rest;
  return { collection, namespace: namespaced ? rest[1] : undefined, name, subresource };
}

function verbOf(method: string, at: Parsed, query: URLSearchParams): Verb {
  if (method === 'POST') return 'create';
  if (method === 'PUT') return 'update';
  if (method === 'PATCH') return 'patch';
  if (method === 'DELETE') return 'delete';
  if (at.name !== undefined) return 'get';
  return query.has('watch') ? 'watch' : 'list';
}

function applyPatch(store: FakeStore, at: Parsed, patch: FakeObject, contentType: string): FakeObject {
  const namespace = at.namespace ?? '';
  const name = at.name ?? '';
  const exists = store.list(at.namespace).some((object) => object.metadata.name === name);
  if (contentType === 'application/apply-patch+yaml' && !exists) return store.create(patch);
  if (contentType === 'application/json-patch+json')
    throw new Refusal(415, 'UnsupportedMediaType', 'not in this fake');
  return store.change(namespace, name, (current) => {
    const sent = at.subresource === 'status' ? { metadata: patch.metadata, status: patch.status } : patch;
    const next = merge(current, sent) as FakeObject;
    if (patch.metadata?.resourceVersion === undefined) delete next.metadata.resourceVersion;
    return next;
  });
}

/** RFC 7386, undefined left alone. */
function merge(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const result: Record<string, unknown> =
    typeof target === 'object' && target !== null && !Array.isArray(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else if (value !== undefined) result[name] = merge(result[name], value);
  }
  return result;
}

function checkPreconditions(
  object: FakeObject,
  options: { preconditions?: { uid?: string; resourceVersion?: string } },
) {
  const { uid, resourceVersion } = options.preconditions ?? {};
  const stale = resourceVersion !== undefined && resourceVersion !== object.metadata.resourceVersion;
  if (stale || (uid !== undefined && uid !== object.metadata.uid)) {
    throw new Refusal(409, 'Conflict', 'precondition failed');
  }
}

function sendStatus(response: ServerResponse, status: number, reason: string, message: string): void {
  sendJson(response, status, {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    code: status,
    reason,
    message,
  });
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function line(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}
