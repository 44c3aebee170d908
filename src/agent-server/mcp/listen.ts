import type { ServerResponse } from 'node:http';
import type { Clock } from '#kit/clock.ts';
import { isObject } from '#kit/json.ts';
import { metaKeys } from '#mcp/eras.ts';
import {
  errorCodes,
  type JsonRpcRequest,
  notificationOf,
  type Params,
  RpcError,
  resultOf,
} from '#mcp/jsonrpc.ts';
import { encodeMessage, sseHeaders, sseKeepAlive } from '#mcp/sse.ts';
import { serverInfo } from './listing.ts';

/** What changed, in the terms of notifications. */
export type ListChange = 'tools' | 'resources' | 'prompts' | { readonly uri: string };

/** Open `subscriptions/listen` requests (2026-07-28). */
export interface Subscriptions {
  /**
   * Answers with a stream that stays open. `watch` begins what the source must do for resources, and is undefined
   * when it tells no changes of them. Throws RpcError for a bad filter or when there are too many.
   */
  open(
    message: JsonRpcRequest,
    response: ServerResponse,
    watch: WatchResources | undefined,
    tasks?: WatchTasks,
  ): Promise<void>;
  announce(change: ListChange): void;
  readonly size: number;
  /** Ends every stream with its result, as a server that stops must. */
  close(): void;
}

/** Resolves to those that changes are told of, and how to end it. */
export type WatchResources = (
  uris: readonly string[],
) => Promise<{ readonly uris: readonly string[]; end(): void }>;

/** Resolves to those tasks that are told of, and how to end it. */
export type WatchTasks = (
  ids: readonly string[],
  tell: (task: Params) => void,
) => Promise<{ readonly ids: readonly string[]; end(): void }>;

interface Filter {
  readonly toolsListChanged?: true;
  readonly promptsListChanged?: true;
  readonly resourcesListChanged?: true;
  readonly resourceSubscriptions?: readonly string[];
  readonly taskIds?: readonly string[];
}

interface Subscription {
  readonly filter: Filter;
  send(method: string, params?: Params): void;
  end(): void;
}

export function createSubscriptions(options: {
  readonly clock: Clock;
  readonly keepAliveMs: number;
  readonly maxStreams: number;
}): Subscriptions {
  const open = new Set<Subscription>();
  let stopping = false;
  return {
    async open(message, response, watch, tasks) {
      if (open.size >= options.maxStreams) {
        throw new RpcError(errorCodes.internal, `More than ${options.maxStreams} subscriptions are open`);
      }
      const wanted = readFilter(message.params, watch !== undefined);
      const lists =
        wanted.resourceSubscriptions === undefined ? wanted : await grant(wanted, response, watch);
      const told = createOutlet();
      const taskIds = await grantTasks(readTaskIds(message.params), response, tasks, told.tell);
      if (response.destroyed) return;
      const filter = taskIds.length === 0 ? lists : { ...lists, taskIds };
      const subscription = startStream(message, response, filter, options);
      told.open((task) => subscription.send('notifications/tasks', task));
      // A client that comes back while the server stops hears at once that it does.
      if (stopping) subscription.end();
      open.add(subscription);
      response.once('close', () => open.delete(subscription));
    },
    announce(change) {
      for (const subscription of open) tell(subscription, change);
    },
    get size() {
      return open.size;
    },
    close() {
      stopping = true;
      for (const subscription of open) subscription.end();
    },
  };
}

/** The filter with the resources that the source really tells of. */
async function grant(
  { resourceSubscriptions = [], ...lists }: Filter,
  response: ServerResponse,
  watch: WatchResources | undefined,
): Promise<Filter> {
  const watched = await watch?.(resourceSubscriptions);
  if (watched === undefined) return lists;
  if (response.destroyed) watched.end();
  else response.once('close', () => watched.end());
  return watched.uris.length === 0 ? lists : { ...lists, resourceSubscriptions: watched.uris };
}

async function grantTasks(
  wanted: readonly string[],
  response: ServerResponse,
  watch: WatchTasks | undefined,
  tell: (task: Params) => void,
): Promise<readonly string[]> {
  const watched = wanted.length === 0 ? undefined : await watch?.(wanted, tell);
  if (watched === undefined) return [];
  if (response.destroyed) watched.end();
  else response.once('close', () => watched.end());
  return watched.ids;
}

/** Holds back what is told before the client has its acknowledgement. */
function createOutlet() {
  const held: Params[] = [];
  let to: ((task: Params) => void) | undefined;
  return {
    tell: (task: Params) => (to === undefined ? void held.push(task) : to(task)),
    open(send: (task: Params) => void): void {
      to = send;
      for (const task of held.splice(0)) send(task);
    },
  };
}

function tell({ filter, send }: Subscription, change: ListChange): void {
  if (typeof change === 'object') {
    if (filter.resourceSubscriptions?.includes(change.uri))
      send('notifications/resources/updated', { uri: change.uri });
  } else if (filter[`${change}ListChanged`]) send(`notifications/${change}/list_changed`);
}

function startStream(
  message: JsonRpcRequest,
  response: ServerResponse,
  filter: Filter,
  { clock, keepAliveMs }: { clock: Clock; keepAliveMs: number },
): Subscription {
  const stamp = { [metaKeys.subscriptionId]: message.id };
  const send = (method: string, params: Params = {}) =>
    void response.write(encodeMessage(notificationOf(method, { ...params, _meta: stamp })));
  response.writeHead(200, sseHeaders);
  send('notifications/subscriptions/acknowledged', { notifications: filter });
  const keepAlive = () => {
    response.write(sseKeepAlive);
    cancel = clock.after(keepAliveMs, keepAlive);
  };
  let cancel = clock.after(keepAliveMs, keepAlive);
  response.once('close', () => cancel());
  return {
    filter,
    send,
    end() {
      const result = { resultType: 'complete', _meta: { ...stamp, [metaKeys.serverInfo]: serverInfo } };
      response.end(encodeMessage(resultOf(message.id, result)));
    },
  };
}

/** The `taskIds` that a listen request asks for; anything else but a list of text is none. */
export function readTaskIds(params: Params | undefined): readonly string[] {
  const wish = params?.['notifications'];
  const ids = isObject(wish) ? wish['taskIds'] : undefined;
  return Array.isArray(ids) && ids.every((id) => typeof id === 'string') ? ids.slice(0, maxUris) : [];
}

const maxUris = 1000;

/** What of the wish can be granted: list changes always, resource updates if the source tells them. */
function readFilter(params: Params | undefined, resourcesToo: boolean): Filter {
  const wish = params?.['notifications'];
  if (!isObject(wish)) throw new RpcError(errorCodes.invalidParams, 'params.notifications must be an object');
  const uris = wish['resourceSubscriptions'];
  if (
    uris !== undefined &&
    !(Array.isArray(uris) && uris.length <= maxUris && uris.every((uri) => typeof uri === 'string'))
  ) {
    throw new RpcError(
      errorCodes.invalidParams,
      `params.notifications.resourceSubscriptions must be a list of at most ${maxUris} URIs`,
    );
  }
  return {
    ...(wish['toolsListChanged'] === true && { toolsListChanged: true }),
    ...(wish['promptsListChanged'] === true && { promptsListChanged: true }),
    ...(wish['resourcesListChanged'] === true && { resourcesListChanged: true }),
    ...(resourcesToo &&
      Array.isArray(uris) &&
      uris.length > 0 && { resourceSubscriptions: uris as string[] }),
  };
}
