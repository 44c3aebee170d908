import { type BackoffOptions, backoffDelay } from '#kit/backoff.ts';
import type { Clock } from '#kit/clock.ts';
import { isObject } from '#kit/json.ts';
import { errorCodes, type JsonRpcNotification, notificationOf, type Params, RpcError } from '#mcp/jsonrpc.ts';

/**
 * One `subscriptions/listen` of 2026-07-28: resolves when the server ends it, rejects with its error, or when the
 * signal is aborted, which ends it.
 */
export type Listen = (
  params: Params,
  onNotification: (notification: JsonRpcNotification) => void,
  signal: AbortSignal,
) => Promise<unknown>;

/** The agent-server's own subscription to a server of 2026-07-28: changes of lists, and of resources by URI. */
export interface Listener {
  /** Resolves when the server tells changes of it. Throws RpcError `invalidParams` when it does not want to. */
  add(uri: string): Promise<void>;
  remove(uri: string): void;
  close(): void;
}

const again: BackoffOptions = { initial: 500, max: 30_000, jitter: 0 };
/** Milliseconds for the acknowledgement. */
const ackMs = 10_000;

interface Stream {
  readonly stop: AbortController;
  /** The URIs that the server acknowledged. Rejects when it did not. */
  readonly granted: Promise<readonly string[]>;
}

export function createListener(options: {
  readonly clock: Clock;
  readonly listen: Listen;
  /** Notifications, and `tools/list_changed` after a pause in which some may have been missed. */
  onNotification(notification: JsonRpcNotification): void;
}): Listener {
  const { clock, listen, onNotification } = options;
  const uris = new Set<string>();
  const closing = new AbortController();
  let failures = 0;
  let current = open();
  current.granted.catch(() => undefined);

  function open(): Stream {
    const stop = new AbortController();
    const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>();
    const signal = AbortSignal.any([stop.signal, closing.signal]);
    let acknowledged = false;
    const onMessage = (notification: JsonRpcNotification) => {
      if (notification.method !== 'notifications/subscriptions/acknowledged') onNotification(notification);
      else {
        acknowledged = true;
        failures = 0;
        resolve(grantedIn(notification.params));
      }
    };
    const cancel = clock.after(ackMs, () => reject(refused('The server does not acknowledge')));
    const stream = { stop, granted: promise };
    promise.catch(() => stop.abort(new Error('not acknowledged'))).finally(cancel);
    listen(filterOf(uris), onMessage, signal)
      .catch((error: unknown) => reject(error))
      .finally(() => {
        reject(refused('The server does not listen'));
        // A server that never acknowledged has no such method, and is not asked again.
        if (acknowledged && !signal.aborted && current === stream) void reopen();
      });
    return stream;
  }
  async function reopen(): Promise<void> {
    while (!closing.signal.aborted) {
      failures += 1;
      try {
        await clock.sleep(backoffDelay(again, failures, 0), closing.signal);
        current = open();
        await current.granted;
        onNotification(notificationOf('notifications/tools/list_changed'));
        return;
      } catch {
        // Not there yet: once more, until the connection is closed.
      }
    }
  }
  /** The old stream goes when the new one is there, so that nothing is missed. */
  async function widen(): Promise<readonly string[]> {
    const before = current;
    const next = open();
    const granted = await next.granted;
    before.stop.abort(new Error('replaced'));
    current = next;
    return granted;
  }
  let turn: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const result = turn.then(work);
    turn = result.catch(() => undefined);
    return result;
  };
  return {
    add: (uri) =>
      inTurn(async () => {
        if (uris.has(uri)) return;
        uris.add(uri);
        try {
          if (!(await widen()).includes(uri)) throw refused(`The server does not tell changes of ${uri}`);
        } catch (error) {
          uris.delete(uri);
          throw error instanceof RpcError ? error : refused(`The server does not tell changes of ${uri}`);
        }
      }),
    // What comes of a URI that nobody listens to any more reaches nobody; the next widening leaves it out.
    remove: (uri) => void uris.delete(uri),
    close() {
      closing.abort(new Error('The connection is closed'));
    },
  };
}

function filterOf(uris: ReadonlySet<string>): Params {
  return {
    notifications: {
      toolsListChanged: true,
      promptsListChanged: true,
      resourcesListChanged: true,
      ...(uris.size > 0 && { resourceSubscriptions: [...uris] }),
    },
  };
}

function grantedIn(params: Params | undefined): readonly string[] {
  const notifications = params?.['notifications'];
  const granted = isObject(notifications) ? notifications['resourceSubscriptions'] : undefined;
  return Array.isArray(granted) ? granted.filter((uri) => typeof uri === 'string') : [];
}

function refused(message: string): RpcError {
  return new RpcError(errorCodes.invalidParams, message);
}
