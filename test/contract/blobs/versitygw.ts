import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildPart } from '#test/cluster/parts.ts';

/** A bucket of versitygw, a server of the S3 protocol that keeps objects as files. */
export interface Bucket {
  readonly endpoint: string;
  readonly name: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Where objects are files. */
  readonly folder: string;
  /** Files below it, of uploads that have not ended too. */
  files(below: string): Promise<string[]>;
  close(): Promise<void>;
}

/** Text: why there is none. */
export async function startBucket(): Promise<Bucket | string> {
  const built = await buildPart('versitygw', (line) => console.error(line));
  if (typeof built !== 'string') return built.missing;
  const root = await mkdtemp(join(tmpdir(), 'versitygw-'));
  const name = 'blobs';
  const folder = join(root, name);
  await mkdir(folder);
  const accessKeyId = 'tester';
  const secretAccessKey = 'canary-secret-access-key';
  const port = await freePort();
  const program = join(built, 'versitygw');
  const child = spawn(program, ['--port', `127.0.0.1:${port}`, '--quiet', 'posix', root], {
    stdio: 'ignore',
    env: { ROOT_ACCESS_KEY: accessKeyId, ROOT_SECRET_KEY: secretAccessKey, PATH: process.env['PATH'] },
  });
  const ended = once(child, 'exit');
  const endpoint = `http://127.0.0.1:${port}`;
  const close = async () => {
    child.kill('SIGKILL');
    await ended;
    await rm(root, { recursive: true, force: true });
  };
  for (let tries = 0; child.exitCode === null; tries += 1) {
    if (
      await fetch(endpoint).then(
        () => true,
        () => false,
      )
    ) {
      const files = (below: string) => filesBelow(join(folder, below));
      return { endpoint, name, accessKeyId, secretAccessKey, folder, files, close };
    }
    if (tries === 100) break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await close();
  return 'versitygw does not start here: it needs a folder of temporary files with extended attributes';
}

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}
