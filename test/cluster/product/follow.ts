import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject } from '#api/meta.ts';
import type { Space } from './product.ts';

/** One kind of one namespace as `kubectl get --watch` tells it: cheap to ask, and it loses no state between. */
export interface Follower<T extends KubeObject> {
  readonly objects: ReadonlyMap<string, T>;
  /** Resolves with the answer of `look` once that is not undefined or false; it is asked at every change. */
  until<R>(
    what: string,
    look: (objects: ReadonlyMap<string, T>) => R | undefined | false,
    timeoutMs?: number,
  ): Promise<R>;
  /** Called with every change, before `until` looks. */
  onChange(listener: (type: string, object: T) => void): void;
  close(): void;
}

interface WatchEvent<T> {
  readonly type: string;
  readonly object: T;
}

/** Begins to follow. Begins again by itself when the API server ends the watch. */
export function follow<T extends KubeObject>(
  { cluster, namespace }: Space,
  kind: string,
  selector?: string,
): Follower<T> {
  const objects = new Map<string, T>();
  const listeners: ((type: string, object: T) => void)[] = [];
  const waiting = new Set<() => void>();
  const watch = ['get', kind, '-n', namespace, '--watch', '--output-watch-events', '-o', 'json'];
  const args = [...cluster.enter, 'kubectl', ...watch, ...(selector === undefined ? [] : ['-l', selector])];
  let child: ChildProcess | undefined;
  let isClosed = false;
  const take = ({ type, object }: WatchEvent<T>) => {
    if (type === 'ERROR' || type === 'BOOKMARK') return;
    if (type === 'DELETED') objects.delete(object.metadata.name);
    else objects.set(object.metadata.name, object);
    for (const listener of listeners) listener(type, object);
    for (const wake of waiting) wake();
  };
  const begin = () => {
    // A watch that begins again tells everything that is there; what went meanwhile it does not.
    objects.clear();
    const [file = '', ...rest] = args;
    const env = { ...process.env, ...cluster.env };
    // What it says of an API server that restarts is no news.
    child = spawn(file, rest, { stdio: ['ignore', 'pipe', 'ignore'], env });
    child.stdout?.setEncoding('utf8').on(
      'data',
      lines((text) => take(JSON.parse(text) as WatchEvent<T>)),
    );
    child.on('close', () => {
      if (!isClosed) void sleep(300).then(() => !isClosed && begin());
    });
  };
  begin();
  return {
    objects,
    onChange: (listener) => listeners.push(listener),
    close() {
      isClosed = true;
      child?.kill();
    },
    until: (what, look, timeoutMs = 120_000) =>
      new Promise((resolve, reject) => {
        const end = (act: () => void) => {
          clearTimeout(timer);
          waiting.delete(wake);
          act();
        };
        const timer = setTimeout(() => {
          const text = JSON.stringify(
            [...objects.values()].map(({ metadata: { name }, ...rest }) => ({ name, ...brief(rest) })),
          );
          end(() => reject(new Error(`not in ${timeoutMs} ms: ${what}\n${text.slice(0, 6_000)}`)));
        }, timeoutMs);
        const wake = () => {
          const found = look(objects);
          if (found !== undefined && found !== false) end(() => resolve(found));
        };
        waiting.add(wake);
        wake();
      }),
  };
}

function brief(object: object): object {
  return 'status' in object ? { status: object.status } : {};
}

/** kubectl prints each change on a line of its own. */
function lines(take: (text: string) => void): (chunk: string) => void {
  let rest = '';
  return (chunk) => {
    const parts = (rest + chunk).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) if (part !== '') take(part);
  };
}
