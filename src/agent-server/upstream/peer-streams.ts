import { isObject } from '#kit/json.ts';
import { metaKeys } from '#mcp/eras.ts';
import {
  isFailure,
  type JsonRpcMessage,
  type JsonRpcNotification,
  type JsonRpcResponse,
  notificationOf,
  type Params,
  RpcError,
} from '#mcp/jsonrpc.ts';

/** Open `subscriptions/listen` requests on a connection that everything shares. */
export interface Streams {
  /** Resolves when the other end ends it, rejects with its error or when the signal is aborted, which ends it too. */
  open(
    id: number,
    params: Params,
    onNotification: (notification: JsonRpcNotification) => void,
    signal: AbortSignal,
  ): Promise<unknown>;
  /** True when the notification is one of a stream, or ends one. */
  take(notification: JsonRpcNotification): boolean;
  /** True when the response is a stream's. */
  end(response: JsonRpcResponse): boolean;
  /** Ends every stream with this error, later ones too. */
  fail(error: Error): void;
}

interface Stream {
  onNotification(notification: JsonRpcNotification): void;
  resolve(): void;
  reject(error: unknown): void;
}

export function createStreams(send: (message: JsonRpcMessage) => void): Streams {
  const streams = new Map<unknown, Stream>();
  let failure: Error | undefined;
  return {
    open(id, params, onNotification, signal) {
      if (signal.aborted) return Promise.reject(signal.reason);
      if (failure !== undefined) return Promise.reject(failure);
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const onAbort = () => {
        send(notificationOf('notifications/cancelled', { requestId: id }));
        reject(signal.reason);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      streams.set(id, { onNotification, resolve, reject });
      send({ jsonrpc: '2.0', id, method: 'subscriptions/listen', params });
      return promise.finally(() => {
        signal.removeEventListener('abort', onAbort);
        streams.delete(id);
      });
    },
    take(notification) {
      const { method, params } = notification;
      if (method === 'notifications/cancelled') {
        const ended = streams.get(params?.['requestId']);
        ended?.resolve();
        return ended !== undefined;
      }
      const meta = params?.['_meta'];
      const stream = isObject(meta) ? streams.get(meta[metaKeys.subscriptionId]) : undefined;
      stream?.onNotification(notification);
      return stream !== undefined;
    },
    end(response) {
      const stream = streams.get(response.id);
      if (stream === undefined) return false;
      if (!isFailure(response)) stream.resolve();
      else stream.reject(new RpcError(response.error.code, response.error.message, response.error.data));
      return true;
    },
    fail(error) {
      failure ??= error;
      for (const stream of streams.values()) stream.reject(error);
    },
  };
}
