import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { listenOnLoopback } from '#workspace/listen.ts';
import type { Scope } from '../harness/scope.ts';

export type ToHolder =
  | {
      readonly type: 'start';
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
    }
  | { readonly type: 'kill'; readonly pid: number; readonly signal: NodeJS.Signals };

export type FromHolder =
  | { readonly type: 'started' | 'listens'; readonly pid: number }
  | {
      readonly type: 'exited';
      readonly pid: number;
      readonly code: number | null;
      readonly signal: string | null;
    };

export interface HeldRouter {
  readonly pid: number;
  /** Resolves with the exit code, or the signal's name. */
  readonly exited: Promise<number | string>;
  kill(signal: NodeJS.Signals): void;
}

/** A listening socket that outlives its routers. */
export interface Holder {
  readonly port: number;
  /** Starts a router on the socket; resolves when it accepts. */
  start(args: readonly string[], env: Readonly<Record<string, string>>): Promise<HeldRouter>;
}

export async function openHolder(scope: Scope): Promise<Holder> {
  const { server, port } = await listenOnLoopback({ from: 20_000 + (process.pid % 20_000), tries: 1000 });
  const script = join(import.meta.dirname, 'programs/holder.ts');
  const { _handle: handle } = server as unknown as { readonly _handle: { readonly fd: number } };
  const child = spawn(process.execPath, [script], {
    stdio: ['ignore', 'inherit', 'inherit', handle.fd, 'ipc'],
  });
  server.close();
  scope.defer(async () => {
    if (child.exitCode !== null || !child.connected) return;
    child.disconnect();
    await once(child, 'exit');
  });
  return { port, start: (args, env) => startRouter(child, { type: 'start', args, env }) };
}

async function startRouter(child: ChildProcess, order: ToHolder): Promise<HeldRouter> {
  const pid = await new Promise<number>((resolve) => {
    const take = (message: FromHolder) => {
      if (message.type !== 'started') return;
      child.off('message', take);
      resolve(message.pid);
    };
    child.on('message', take);
    child.send(order);
  });
  const exited = Promise.withResolvers<number | string>();
  const listens = Promise.withResolvers<void>();
  const take = (message: FromHolder) => {
    if (message.pid !== pid) return;
    if (message.type === 'listens') listens.resolve();
    if (message.type !== 'exited') return;
    child.off('message', take);
    exited.resolve(message.code ?? message.signal ?? 'unknown');
    listens.reject(new Error(`the router ended with ${message.code ?? message.signal}`));
  };
  child.on('message', take);
  await listens.promise;
  const kill = (signal: NodeJS.Signals) => child.send({ type: 'kill', pid, signal } satisfies ToHolder);
  return { pid, exited: exited.promise, kill };
}
