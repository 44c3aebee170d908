import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkout, runProgram } from '#test/fixtures/workspace/workspace.ts';
import { type Args, answer, namesIn, type Peer, type ToolResult, toolResult } from './peer.ts';

const inspectorBin = join(checkout, 'test/peers/node_modules/.bin/mcp-inspector');
const mcpdo = join(checkout, 'test/peers/node_modules/.bin/mcpdo');

/** The Inspector starts anew for each request, and says nothing of the revision but what it was told to speak. */
export function inspector(name: string, revision: string, era: 'legacy' | 'modern'): Peer {
  const inspect = async (url: string, method: string, args: readonly string[] = []) => {
    const all = ['--cli', url, '--transport', 'http', '--protocol-era', era, '--method', method, ...args];
    const { code, stdout, stderr } = await runProgram(inspectorBin, all);
    // 5: the tool's own error, with the result on standard output as ever.
    if (code !== 0 && code !== 5) throw new Error(`mcp-inspector exited with ${code}: ${stderr}${stdout}`);
    return JSON.parse(stdout) as Record<string, unknown>;
  };
  return {
    name,
    revision,
    cannot: 'shows neither progress nor the revision',
    missing: existsSync(inspectorBin) ? undefined : 'test/peers is not installed (npm ci in test/peers)',
    connect: async (url) => ({
      revision: undefined,
      list: async (kind) => namesIn(kind, await inspect(url, `${kind}/list`)),
      call: async (tool, args) =>
        toolResult(await inspect(url, 'tools/call', ['--tool-name', tool, ...pairs('--tool-arg', args)])),
      read: async (uri) => (await inspect(url, 'resources/read', ['--uri', uri]))['contents'],
      prompt: async (prompt, args) =>
        (await inspect(url, 'prompts/get', ['--prompt-name', prompt, ...pairs('--prompt-args', args)]))[
          'messages'
        ],
      callAsking: (tool, args) => callOnConnection(url, era, tool, args),
      close: async () => undefined,
    }),
  };
}

/**
 * The Inspector's other command line holds a connection in a daemon, so that a call can wait for an answer. This
 * starts one, asks, and ends it.
 */
async function callOnConnection(
  url: string,
  era: string,
  tool: string,
  args: Args = {},
): Promise<ToolResult> {
  const home = await mkdtemp(join(tmpdir(), 'mcpdo-'));
  const env = { ...process.env, HOME: home, MCP_INSPECTOR_SECRET_STORE: 'memory' };
  const run = async (...words: string[]) => {
    const { code, stdout, stderr } = await runProgram(mcpdo, ['--format', 'json', ...words], env);
    if (code !== 0) throw new Error(`mcpdo ${words.join(' ')} exited with ${code}: ${stderr}${stdout}`);
    return JSON.parse(stdout) as { elicitationPending?: { elicitationId: string } };
  };
  const on = ['--connection', url];
  try {
    await run('connect', url, '--transport', 'http', '--era', era, '--elicit', 'form');
    let result = await run(...on, 'tools/call', tool, JSON.stringify(args));
    while (result.elicitationPending !== undefined) {
      const { elicitationId } = result.elicitationPending;
      result = await run(...on, 'elicitation/respond', elicitationId, JSON.stringify(answer.content));
    }
    return toolResult(result);
  } finally {
    await runProgram(mcpdo, ['daemon', 'stop'], env);
    await rm(home, { recursive: true, force: true });
  }
}

function pairs(option: string, args: Args = {}): string[] {
  const entries = Object.entries(args).map(([key, value]) => `${key}=${value}`);
  return entries.length === 0 ? [] : [option, ...entries];
}
