import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { installPython, type Python } from '#test/fixtures/python-client/install.ts';
import { checkout } from '#test/fixtures/workspace/workspace.ts';
import { namesIn, type Peer, type PeerSession, toolResult } from './peer.ts';

// Clients made with the package `mcp` from PyPI, each a process that is told by lines of JSON what to do.

const program = join(checkout, 'test/fixtures/python-client/client.py');

/** One process. */
interface Driven {
  do(request: object): Promise<unknown>;
  readonly revision: string;
  close(): Promise<void>;
}

async function drive(python: string, args: readonly string[]): Promise<Driven> {
  const child = spawn(python, [program, ...args], { stdio: ['pipe', 'pipe', 'pipe'] });
  const errors: string[] = [];
  child.stderr.on('data', (piece) => errors.push(String(piece)));
  const ended = once(child, 'exit');
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const answer = async () => {
    const { value, done } = await lines.next();
    if (done) throw new Error(`the Python client ended: ${errors.join('')}`);
    const { ok, error } = JSON.parse(value) as { ok?: unknown; error?: string };
    if (error !== undefined) throw new Error(error);
    return ok;
  };
  return {
    revision: String(await answer()),
    async do(request) {
      child.stdin.write(`${JSON.stringify(request)}\n`);
      return answer();
    },
    async close() {
      child.stdin.end();
      await ended;
    },
  };
}

function sessionOf({ revision, do: ask, close }: Driven): PeerSession {
  return {
    revision,
    list: async (kind) => namesIn(kind, (await ask({ do: 'list', kind })) as object),
    call: async (name, args = {}) => toolResult((await ask({ do: 'call', name, args })) as object),
    read: async (uri) => ((await ask({ do: 'read', uri })) as { contents: unknown }).contents,
    prompt: async (name, args) =>
      ((await ask({ do: 'prompt', name, args })) as { messages: unknown }).messages,
    progress: async (name) => (await ask({ do: 'progress', name })) as number[],
    close,
  };
}

function pythonClient(name: string, revision: string, installed: Python, mode: 'legacy' | 'auto'): Peer {
  return {
    name,
    revision,
    missing: 'missing' in installed ? installed.missing : undefined,
    async connect(url) {
      if ('missing' in installed) throw new Error(installed.missing);
      return sessionOf(await drive(installed.python, [url, mode]));
    },
  };
}

/** Of the last version before 2026-07-28, and of one that speaks both eras. */
const [first, second] = [await installPython('1.30.0'), await installPython('2.3.0')];

export const pythonPeers: readonly Peer[] = [
  pythonClient('Python SDK v1 (2025-11-25)', '2025-11-25', first, 'legacy'),
  pythonClient('Python SDK v2 (2025-11-25)', '2025-11-25', second, 'legacy'),
  pythonClient('Python SDK v2 (2026-07-28)', '2026-07-28', second, 'auto'),
];
