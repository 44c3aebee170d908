import type { KubeObject, Resource } from '#api/meta.ts';
import type { Clock } from '#kit/clock.ts';
import type {
  ApplyConfiguration,
  ApplyOptions,
  ApplyStatusOptions,
  CallOptions,
  DeleteOptions,
  List,
  ListOptions,
  Patch,
  PatchOptions,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from './client-options.ts';
import { nameKinds, writePath, writeQuery } from './client-requests.ts';
import type { Endpoint } from './endpoint.ts';
import { isNotFound } from './errors.ts';
import {
  type HttpCall,
  type HttpContext,
  parseJson,
  readText,
  refuseFailure,
  send,
  startDeadline,
} from './http.ts';
import type { ObjectKey } from './key.ts';
import { type Metrics, noMetrics } from './metrics.ts';
import { apiVersionOf, collectionPath, objectPath, withQuery } from './resource-path.ts';
import { sameStatus } from './same-status.ts';
import { openStream } from './stream.ts';
import { openWatch } from './watch-stream.ts';

/**
 * The Kubernetes API, typed by a Resource and its object type. Answers are plain JSON that the type parameter
 * trusts: the server has validated them. Failures throw ApiError (the API said no), TransportError (no usable
 * answer) or the signal's reason. Nothing is retried and nothing is throttled: callers are reconcilers with backoff.
 */
export interface Client {
  get<T extends KubeObject>(resource: Resource, key: ObjectKey, options?: CallOptions): Promise<T>;
  /** As `get`, with undefined for 404. */
  find<T extends KubeObject>(
    resource: Resource,
    key: ObjectKey,
    options?: CallOptions,
  ): Promise<T | undefined>;
  /** One answer: everything, or a page when `limit` is set. Items carry apiVersion and kind. */
  list<T extends KubeObject>(resource: Resource, options?: ListOptions): Promise<List<T>>;
  /** Into the object's own namespace. `metadata.generateName` works. */
  create<T extends KubeObject>(resource: Resource, object: T, options?: WriteOptions): Promise<T>;
  /** Replaces the object; `metadata.resourceVersion` makes a stale one fail with 409. */
  update<T extends KubeObject>(resource: Resource, object: T, options?: WriteOptions): Promise<T>;
  patch<T extends KubeObject>(
    resource: Resource,
    key: ObjectKey,
    patch: Patch,
    options?: PatchOptions,
  ): Promise<T>;
  /** Server-side apply: creates or merges. Send the fields this manager wants to own and no others. */
  apply<T extends KubeObject>(
    resource: Resource,
    object: ApplyConfiguration<T>,
    options: ApplyOptions,
  ): Promise<T>;
  /**
   * Server-side apply of the status subresource. Carries `current`'s resourceVersion, so that a decision made on
   * a stale object fails with 409 even when forced. Sends nothing and returns `current` when `sameStatus`.
   * `force` defaults to true: status fields have one owner each.
   */
  applyStatus<T extends KubeObject & { status?: object }>(
    resource: Resource,
    current: T,
    status: NonNullable<T['status']>,
    options: ApplyStatusOptions,
  ): Promise<T>;
  /** Sets `spec.replicas` by the scale subresource. */
  scale(resource: Resource, key: ObjectKey, replicas: number, options?: WriteOptions): Promise<void>;
  /** Accepts the deletion; finalizers may keep the object a while. 404 throws. */
  delete(resource: Resource, key: ObjectKey, options?: DeleteOptions): Promise<void>;
  /** Batches of events as they arrive, one batch per read; see `openWatch`. Most callers want an Informer. */
  watch<T extends KubeObject>(
    resource: Resource,
    options?: WatchOptions,
  ): Promise<AsyncIterable<readonly WatchEvent<T>[]>>;
  /** A GET of any path as text, for `/version`, `/readyz` and a pod's log. */
  getText(path: string, options?: CallOptions): Promise<string>;
  /**
   * As `getText`, piece by piece as it comes, for a log that is followed. Has no deadline after the headers: the
   * signal ends it. Leaving the loop closes the connection.
   */
  readText(path: string, options?: CallOptions): Promise<AsyncIterable<Buffer>>;
  /** Ends every connection, watches too. */
  close(): Promise<void>;
}

export interface ClientOptions {
  readonly endpoint: Endpoint;
  readonly clock: Clock;
  readonly userAgent?: string;
  readonly metrics?: Metrics;
  /** Time for a call that ends, in milliseconds. Default 30,000. */
  readonly timeoutMs?: number;
  /** Largest answer of a call that ends. Default 64 MiB. */
  readonly maxResponseBytes?: number;
  /** Largest line of a watch: one event. Default 16 MiB. */
  readonly maxEventBytes?: number;
}

export function createClient(options: ClientOptions): Client {
  return new HttpClient(options);
}

type Request = Omit<HttpCall, 'signal' | 'body' | 'contentType'> & { json?: object; contentType?: string };

class HttpClient implements Client {
  readonly #context: HttpContext;
  readonly #timeoutMs: number;
  readonly #maxResponseBytes: number;
  readonly #maxEventBytes: number;

  constructor(options: ClientOptions) {
    this.#context = {
      endpoint: options.endpoint,
      clock: options.clock,
      userAgent: options.userAgent ?? 'ploinky',
      requests: (options.metrics ?? noMetrics).counter({
        name: 'rest_client_requests_total',
        help: 'Number of HTTP requests to the API, by status code and method.',
        labelNames: ['code', 'method'],
      }),
    };
    this.#timeoutMs = options.timeoutMs ?? 30_000;
    this.#maxResponseBytes = options.maxResponseBytes ?? 67_108_864;
    this.#maxEventBytes = options.maxEventBytes ?? 16_777_216;
  }

  get<T extends KubeObject>(resource: Resource, key: ObjectKey, options?: CallOptions): Promise<T> {
    return this.#json({ method: 'GET', path: objectPath(resource, key.namespace, key.name) }, options);
  }

  async find<T extends KubeObject>(
    resource: Resource,
    key: ObjectKey,
    options?: CallOptions,
  ): Promise<T | undefined> {
    try {
      return await this.get<T>(resource, key, options);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async list<T extends KubeObject>(resource: Resource, options: ListOptions = {}): Promise<List<T>> {
    const { namespace, signal: _signal, timeoutMs: _timeoutMs, ...query } = options;
    const path = withQuery(collectionPath(resource, namespace), { ...query });
    const list = await this.#json<Partial<List<T>>>({ method: 'GET', path }, options);
    return {
      items: nameKinds(resource, list.items ?? []),
      metadata: { resourceVersion: '', ...list.metadata },
    };
  }

  create<T extends KubeObject>(resource: Resource, object: T, options: WriteOptions = {}): Promise<T> {
    const path = withQuery(collectionPath(resource, object.metadata.namespace), writeQuery(options));
    return this.#json({ method: 'POST', path, json: object }, options);
  }

  update<T extends KubeObject>(resource: Resource, object: T, options: WriteOptions = {}): Promise<T> {
    return this.#json({ method: 'PUT', path: writePath(resource, object, options), json: object }, options);
  }

  patch<T extends KubeObject>(
    resource: Resource,
    key: ObjectKey,
    patch: Patch,
    options: PatchOptions = {},
  ): Promise<T> {
    const path = objectPath(resource, key.namespace, key.name, options.subresource);
    const contentType =
      patch.type === 'json' ? 'application/json-patch+json' : 'application/merge-patch+json';
    return this.#json(
      { method: 'PATCH', path: withQuery(path, writeQuery(options)), json: patch.body, contentType },
      options,
    );
  }

  apply<T extends KubeObject>(
    resource: Resource,
    object: ApplyConfiguration<T>,
    options: ApplyOptions,
  ): Promise<T> {
    return this.#apply(writePath(resource, object, options), object, options);
  }

  async applyStatus<T extends KubeObject & { status?: object }>(
    resource: Resource,
    current: T,
    status: NonNullable<T['status']>,
    options: ApplyStatusOptions,
  ): Promise<T> {
    if (sameStatus(current.status, status, options.owned)) return current;
    const { name, namespace, resourceVersion } = current.metadata;
    const metadata = { name, ...(namespace && { namespace }), ...(resourceVersion && { resourceVersion }) };
    const object = { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata, status };
    const query = { force: true, ...options };
    return this.#apply(writePath(resource, object, query, 'status'), object, options);
  }

  async scale(
    resource: Resource,
    key: ObjectKey,
    replicas: number,
    options: WriteOptions = {},
  ): Promise<void> {
    const patch: Patch = { type: 'merge', body: { spec: { replicas } } };
    await this.patch(resource, key, patch, { ...options, subresource: 'scale' });
  }

  async delete(resource: Resource, key: ObjectKey, options: DeleteOptions = {}): Promise<void> {
    const json = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      preconditions: options.preconditions,
      propagationPolicy: options.propagation,
      gracePeriodSeconds: options.gracePeriodSeconds,
      dryRun: options.dryRun ? ['All'] : undefined,
    };
    await this.#text(
      { method: 'DELETE', path: objectPath(resource, key.namespace, key.name), json },
      options,
    );
  }

  watch<T extends KubeObject>(
    resource: Resource,
    options: WatchOptions = {},
  ): Promise<AsyncIterable<readonly WatchEvent<T>[]>> {
    const limits = { maxEventBytes: this.#maxEventBytes, connectMs: this.#timeoutMs };
    return openWatch<T>(this.#context, resource, options, limits);
  }

  getText(path: string, options?: CallOptions): Promise<string> {
    return this.#text({ method: 'GET', path, accept: '*/*' }, options);
  }

  readText(path: string, options: CallOptions = {}): Promise<AsyncIterable<Buffer>> {
    const limits = { connectMs: options.timeoutMs ?? this.#timeoutMs };
    return openStream(this.#context, { method: 'GET', path, accept: '*/*' }, limits, options.signal);
  }

  close(): Promise<void> {
    return this.#context.endpoint.close();
  }

  #apply<T>(path: string, object: object, options: CallOptions): Promise<T> {
    // JSON is YAML, and the only media type that every server with server-side apply takes.
    return this.#json(
      { method: 'PATCH', path, json: object, contentType: 'application/apply-patch+yaml' },
      options,
    );
  }

  async #json<T>(request: Request, options: CallOptions | undefined): Promise<T> {
    return parseJson(await this.#text(request, options)) as T;
  }

  async #text({ json, ...request }: Request, options: CallOptions = {}): Promise<string> {
    const deadline = startDeadline(this.#context.clock, options.timeoutMs ?? this.#timeoutMs, options.signal);
    const call: HttpCall = {
      ...request,
      ...(json !== undefined && {
        body: JSON.stringify(json),
        contentType: request.contentType ?? 'application/json',
      }),
      signal: deadline.signal,
    };
    try {
      const answer = await send(this.#context, call);
      await refuseFailure(answer, deadline.signal);
      return await readText(answer, this.#maxResponseBytes, deadline.signal);
    } finally {
      deadline.clear();
    }
  }
}
