import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { PassThrough, Writable } from 'node:stream';
import type { PortForward as Library } from '@kubernetes/client-node';
import type { Clock } from '#kit/clock.ts';
import { messageOf } from '#kit/errors.ts';
import { TransportError } from './errors.ts';
import { loadKubeconfig } from './kubeconfig.ts';

/** One port of one pod. */
export interface PodPort {
  readonly namespace: string;
  readonly pod: string;
  readonly port: number;
}

export interface PortForwardOptions {
  /** Path of the kubeconfig and its context; defaults as kubectl has them. */
  readonly file?: string;
  readonly context?: string;
  /** Pods that serve the same, the first to try first. Asked for each connection. */
  readonly pods: () => Promise<readonly PodPort[]>;
  readonly clock: Clock;
  /** Hears why a connection could not be made or was cut. */
  readonly onTrouble?: (message: string) => void;
  /** Time to reach one pod, in milliseconds. Default 10,000. */
  readonly dialTimeoutMs?: number;
  /** What a connection may have sent before the first answer and still move to the next pod. Default 1 MiB. */
  readonly maxReplayBytes?: number;
}

/** A listener on the loopback whose connections end in a pod. */
export interface PortForward {
  readonly port: number;
  /** Why the last connection failed, if any did. */
  lastTrouble(): string | undefined;
  /** Ends the listener and cuts its connections. */
  close(): Promise<void>;
}

/**
 * Listens on a free port of the loopback and carries each connection over a websocket to a pod; a pod that cannot be
 * reached, or has nothing listening, is passed over for the next. Throws TransportError BadEndpoint.
 */
export async function openPortForward(options: PortForwardOptions): Promise<PortForward> {
  const { PortForward: Forward } = await import('@kubernetes/client-node');
  const library = new Forward(await loadKubeconfig(options), true);
  const sockets = new Set<Socket>();
  let trouble: string | undefined;
  const note = (message: string) => {
    trouble = message;
    options.onTrouble?.(message);
  };
  // A client that has said all it has to say still waits for the answer.
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    carry(library, socket, options, note).catch((error: unknown) => {
      note(messageOf(error));
      socket.destroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    lastTrouble: () => trouble,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Tries the pods in turn until one has answered or the client is gone. */
async function carry(
  library: Library,
  socket: Socket,
  options: PortForwardOptions,
  note: (message: string) => void,
): Promise<void> {
  const sent = keepSent(socket, options.maxReplayBytes ?? 1_048_576);
  const pods = await options.pods();
  if (pods.length === 0) throw new TransportError('ConnectFailed', 'no pod is ready');
  for (const pod of pods) {
    if (socket.destroyed) return;
    const outcome = await carryTo(library, { socket, sent, pod, options }).catch((error: unknown) => ({
      trouble: messageOf(error),
      retry: true,
    }));
    if (outcome === undefined) {
      socket.end();
      return;
    }
    note(`${pod.namespace}/${pod.pod}: ${outcome.trouble}`);
    if (!outcome.retry) break;
  }
  socket.destroy();
}

interface Carriage {
  readonly socket: Socket;
  readonly sent: Sent;
  readonly pod: PodPort;
  readonly options: PortForwardOptions;
}

/** Resolves when the connection is over: undefined when it ended well. */
async function carryTo(
  library: Library,
  { socket, sent, pod, options }: Carriage,
): Promise<{ trouble: string; retry: boolean } | undefined> {
  const input = new PassThrough();
  let answered = false;
  let complaint = '';
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (chunk.length > 0 && !answered) {
        answered = true;
        sent.forget();
      }
      if (!socket.destroyed) socket.write(chunk);
      done();
    },
  });
  const failure = new Writable({
    write(chunk: Buffer, _encoding, done) {
      complaint += chunk.toString('utf8');
      // The kubelet leaves the websocket open after it has told what went wrong.
      if (complaint !== '') ended.resolve();
      done();
    },
  });
  const ended = Promise.withResolvers<void>();
  const websocket = await dial(library, pod, { output, failure, input }, options);
  websocket.onclose = () => ended.resolve();
  if (websocket.readyState >= websocket.CLOSING) ended.resolve();
  socket.once('close', ended.resolve);
  sent.moveTo(input);
  await ended.promise;
  socket.off('close', ended.resolve);
  sent.moveTo(undefined);
  websocket.close();
  if (complaint === '') return undefined;
  return {
    trouble: complaint.trim(),
    retry: !answered && sent.complete && /refused|failed to connect/i.test(complaint),
  };
}

interface Streams {
  readonly output: Writable;
  readonly failure: Writable;
  readonly input: PassThrough;
}

/** The part of a websocket that is used here. */
interface Websocket {
  onclose: ((event: never) => void) | null;
  readonly readyState: number;
  readonly CLOSING: number;
  close(): void;
}

async function dial(
  library: Library,
  { namespace, pod, port }: PodPort,
  { output, failure, input }: Streams,
  { clock, dialTimeoutMs = 10_000 }: PortForwardOptions,
): Promise<Websocket> {
  const opened = library.portForward(namespace, pod, [port], output, failure, input);
  const late = Promise.withResolvers<never>();
  const cancel = clock.after(dialTimeoutMs, () =>
    late.reject(new TransportError('DeadlineExceeded', `not reached within ${dialTimeoutMs} ms`)),
  );
  try {
    // Never a function: that is what the library returns only when it is told to try again by itself.
    return (await Promise.race([opened, late.promise])) as unknown as Websocket;
  } catch (error) {
    opened.then((socket) => (socket as unknown as Websocket).close()).catch(() => undefined);
    throw error instanceof TransportError ? error : new TransportError('ConnectFailed', messageIn(error));
  } finally {
    cancel();
  }
}

/** Websocket libraries reject with events. */
function messageIn(error: unknown): string {
  const isEvent = typeof error === 'object' && error !== null && 'message' in error;
  return isEvent ? String(error.message) : messageOf(error);
}

interface Sent {
  /** Whether all that the client has sent is still known. */
  readonly complete: boolean;
  /** Says all again that is known, and goes on with what comes. */
  moveTo(target: PassThrough | undefined): void;
  /** Keeps nothing more. */
  forget(): void;
}

/** What the client has sent so far, for a pod that is tried after another. */
function keepSent(socket: Socket, maxBytes: number): Sent {
  let kept: Buffer[] = [];
  let size = 0;
  let keeping = true;
  let target: PassThrough | undefined;
  const forget = () => {
    keeping = false;
    kept = [];
  };
  socket.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (keeping) kept.push(chunk);
    if (size > maxBytes && target !== undefined) forget();
    target?.write(chunk);
  });
  return {
    get complete() {
      return keeping;
    },
    moveTo(next) {
      target = next;
      if (next !== undefined) for (const chunk of kept) next.write(chunk);
    },
    forget,
  };
}
