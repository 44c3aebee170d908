import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import type { Server } from 'node:net';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { CodedError } from '#kit/errors.ts';
import { isObject } from '#kit/json.ts';
import { workspaceErrors } from './errors.ts';
import { ensureWorkspace } from './folders.ts';
import { listenOnLoopback, type PortOptions } from './listen.ts';
import { alreadyRunning, findHolder } from './lock.ts';
import type { WorkspacePaths } from './paths.ts';
import { splitEnvironment } from './secrets/environment.ts';

export interface StartOptions extends PortOptions {
  readonly paths: WorkspacePaths;
  readonly uid: number;
  /** The program that runs the watchdog's main file, and that file. */
  readonly node: string;
  readonly watchdogMain: string;
  /** Further flags for it. */
  readonly watchdogFlags?: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface Started {
  readonly pid: number;
  readonly port: number;
  readonly url: string;
  /** Resolves when API and router answer; rejects with the watchdog's reason when it ended before. */
  readonly ready: Promise<void>;
}

/** How the watchdog tells over descriptor 4 how its start went: one JSON line, then it closes it. */
export type StartReport =
  | { readonly ready: true }
  | { readonly ready: false; readonly code: string; readonly message: string; readonly remedy?: string };

/**
 * Binds the router's port and starts the watchdog in a session of its own, with the listening socket as
 * descriptor 3. The caller may end; the workspace stays. Throws AlreadyRunning and PortTaken.
 */
export async function startWorkspace(options: StartOptions): Promise<Started> {
  const { paths } = options;
  await ensureWorkspace(paths, options.uid);
  const holder = await findHolder(paths.running);
  if (holder !== undefined) throw alreadyRunning(holder);
  const { server, port } = await listenOnLoopback(options);
  const child = spawnWatchdog(options, server, port);
  const report = child.stdio[4] as Readable;
  handOver((child.stdio as readonly unknown[])[5] as Writable, splitEnvironment(options.env).handed);
  return {
    pid: child.pid ?? 0,
    port,
    url: `http://127.0.0.1:${port}`,
    ready: awaitReport(report, join(paths.logs, 'watchdog.log')),
  };
}

function spawnWatchdog(options: StartOptions, server: Server, port: number) {
  const flags = options.watchdogFlags ?? [];
  const output = openSync(join(options.paths.logs, 'watchdog.out'), 'a', 0o600);
  try {
    const child = spawn(
      '/bin/sh',
      [
        ...withoutCoreDumps(options.node),
        options.watchdogMain,
        ...['--workspace', options.paths.root, '--port', String(port), '--environment-fd', '5', ...flags],
      ],
      {
        cwd: options.paths.root,
        env: splitEnvironment(options.env).own,
        detached: true,
        stdio: ['ignore', output, output, descriptorOf(server), 'pipe', 'pipe'],
      },
    );
    child.unref();
    return child;
  } finally {
    closeSync(output);
    server.close();
  }
}

/** Memory holds secrets, and a file of it would lie around. Everything that is started from here has the same limit. */
function withoutCoreDumps(program: string): string[] {
  return ['-c', 'ulimit -c 0; exec "$0" "$@"', program];
}

/** What may be secret of the environment, as one JSON object: a process's environment can be read by others. */
function handOver(pipe: Writable, handed: Readonly<Record<string, string>>): void {
  pipe.on('error', () => undefined);
  pipe.end(JSON.stringify(handed));
}

/** Node has no public way to a server's descriptor; its handle has told it since 2011. */
function descriptorOf(server: Server): number {
  const { _handle: handle } = server as unknown as { _handle?: { fd?: number } };
  if (typeof handle?.fd !== 'number' || handle.fd < 0)
    throw new Error('a listening server without descriptor');
  return handle.fd;
}

async function awaitReport(report: Readable, log: string): Promise<void> {
  const line = await text(report);
  const outcome = parseReport(line);
  if (outcome?.ready === true) return;
  throw new CodedError(
    outcome?.code ?? workspaceErrors.StartFailed,
    outcome?.message ?? 'the watchdog ended before the workspace was up',
    { remedy: outcome?.remedy ?? `Read ${log}.` },
  );
}

function parseReport(line: string): StartReport | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) && typeof value['ready'] === 'boolean' ? (value as StartReport) : undefined;
  } catch {
    return undefined;
  }
}
