import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import type { Server } from 'node:net';
import { Readable, Writable } from 'node:stream';
import type { Descriptor, Launch } from '../shim-plan.ts';

export interface Started {
  readonly child: ChildProcess;
  /** Resolves with the pid that leads the sandbox's process group, once the sandbox exists. */
  readonly leader: Promise<number | undefined>;
}

/**
 * Starts the command with its descriptors in place and its output going to `log`. Data descriptors are
 * written and closed; the listener's own copy is closed as soon as the child has it.
 */
export function startCommand(launch: Launch, listener: Server | undefined, log: Writable): Started {
  const files: number[] = [];
  const stdio = launch.descriptors.map((descriptor) => stdioOf(descriptor, listener, files));
  const child = spawn(launch.file, launch.arguments, {
    cwd: launch.cwd ?? '/',
    env: { ...launch.environment },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', ...stdio],
  });
  for (const fd of files) closeSync(fd);
  listener?.close();
  child.stdout?.pipe(log, { end: false });
  child.stderr?.pipe(log, { end: false });
  feed(child, launch.descriptors);
  const info = launch.descriptors.findIndex((descriptor) => descriptor.type === 'info');
  const leader = info < 0 ? Promise.resolve(child.pid) : readLeader(child.stdio[3 + info]);
  return { child, leader };
}

function stdioOf(
  descriptor: Descriptor,
  listener: Server | undefined,
  files: number[],
): 'pipe' | 'ignore' | number {
  if (descriptor.type === 'listener') return descriptorOf(listener) ?? 'ignore';
  if (descriptor.type !== 'file') return 'pipe';
  const fd = openSync(descriptor.path, 'r');
  files.push(fd);
  return fd;
}

/** Node has no public name for the descriptor of a listening Unix socket. */
function descriptorOf(server: Server | undefined): number | undefined {
  const { _handle: handle } = (server ?? {}) as { _handle?: { fd?: number } | null };
  return handle?.fd;
}

function feed(child: ChildProcess, descriptors: readonly Descriptor[]): void {
  for (const [index, descriptor] of descriptors.entries()) {
    const stream = child.stdio[3 + index];
    if (descriptor.type !== 'data' || !(stream instanceof Writable)) continue;
    // A child that ended before it read is reported by its exit.
    stream.on('error', () => undefined);
    stream.end(descriptor.text);
  }
}

/** Reads bwrap's `--info-fd` document: `{"child-pid": N, …}`. */
async function readLeader(stream: unknown): Promise<number | undefined> {
  if (!(stream instanceof Readable)) return undefined;
  let text = '';
  try {
    for await (const chunk of stream) {
      text += String(chunk);
      const pid = /"child-pid":\s*(\d+)/.exec(text)?.[1];
      if (pid !== undefined && text.includes('}')) return Number(pid);
    }
  } catch {
    // The child ended; its exit says more.
  }
  return undefined;
}
