import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
} from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { checkout, runProgram } from '#test/fixtures/workspace/workspace.ts';

// Three MCP clients by others in each era that they speak. Unlike the clients of the examples they give whole
// results, so that a test can look at every member.

export interface Peer {
  readonly name: string;
  /** What it has to settle on with the server. */
  readonly revision: string;
  /** Why it cannot run here; undefined: it can. */
  readonly missing: string | undefined;
  connect(url: string): Promise<PeerSession>;
}

export interface PeerSession {
  /** What was settled on; undefined where the client does not tell. */
  readonly revision: string | undefined;
  /** One of tools/list, resources/list, prompts/list: the names or URIs. */
  list(kind: ListKind): Promise<string[]>;
  call(name: string, args?: Args): Promise<ToolResult>;
  read(uri: string): Promise<unknown>;
  prompt(name: string, args: Readonly<Record<string, string>>): Promise<unknown>;
  /** A call with progress; undefined where the client cannot show it. */
  progress?(name: string): Promise<number[]>;
  close(): Promise<void>;
}

export type ListKind = 'tools' | 'resources' | 'prompts';
export type Args = Readonly<Record<string, string | number>>;

export interface ToolResult {
  readonly content: unknown;
  readonly isError: boolean;
}

const info = { name: 'e2e', version: '1.0.0' };
/** What every client answers to every question of the server. */
export const answer = {
  action: 'accept',
  content: { username: 'Ana', email: 'ana@example.com', name: 'Ana' },
} as const;
const capabilities = { elicitation: { form: {} } };

const sdkV1: Peer = {
  name: 'SDK v1 (2025-11-25)',
  revision: '2025-11-25',
  missing: undefined,
  async connect(url) {
    const client = new ClientV1(info, { capabilities });
    client.setRequestHandler(ElicitRequestSchema, async () => answer);
    const transport = new TransportV1(new URL(url));
    await client.connect(transport as Parameters<typeof client.connect>[0]);
    return {
      revision: transport.protocolVersion,
      list: async (kind) => namesIn(kind, await listOf(client, kind)),
      call: async (name, args) => toolResult(await client.callTool({ name, arguments: { ...args } })),
      read: async (uri) => (await client.readResource({ uri })).contents,
      prompt: async (name, args) => (await client.getPrompt({ name, arguments: args })).messages,
      async progress(name) {
        const seen: number[] = [];
        await client.callTool({ name }, undefined, { onprogress: ({ progress }) => seen.push(progress) });
        return seen;
      },
      close: () => client.close(),
    };
  },
};

function sdkV2(name: string, revision: string): Peer {
  return {
    name,
    revision,
    missing: undefined,
    async connect(url) {
      const modern = revision >= '2026-07-28';
      const client = new ClientV2(info, {
        capabilities,
        ...(modern && { versionNegotiation: { mode: 'auto' } }),
      });
      client.setRequestHandler('elicitation/create', async () => answer);
      await client.connect(new TransportV2(new URL(url)));
      return {
        revision: client.getNegotiatedProtocolVersion(),
        list: async (kind) => namesIn(kind, await listOf(client, kind)),
        call: async (tool, args) => toolResult(await client.callTool({ name: tool, arguments: { ...args } })),
        read: async (uri) => (await client.readResource({ uri })).contents,
        prompt: async (prompt, args) => (await client.getPrompt({ name: prompt, arguments: args })).messages,
        async progress(tool) {
          const seen: number[] = [];
          await client.callTool({ name: tool }, { onprogress: ({ progress }) => seen.push(progress) });
          return seen;
        },
        close: () => client.close(),
      };
    },
  };
}

interface Lister {
  listTools(): Promise<object>;
  listResources(): Promise<object>;
  listPrompts(): Promise<object>;
}

function listOf(client: Lister, kind: ListKind): Promise<object> {
  if (kind === 'tools') return client.listTools();
  return kind === 'resources' ? client.listResources() : client.listPrompts();
}

function namesIn(kind: ListKind, result: object): string[] {
  const items = (result as Record<string, { name: string; uri: string }[]>)[kind] ?? [];
  return items.map(({ name, uri }) => (kind === 'resources' ? uri : name));
}

function toolResult(result: object): ToolResult {
  const { content, isError = false } = result as { content?: unknown; isError?: boolean };
  return { content, isError };
}

const inspectorBin = join(checkout, 'test/peers/node_modules/.bin/mcp-inspector');

/** The Inspector starts anew for each request, and says nothing of the revision but what it was told to speak. */
function inspector(name: string, revision: string, era: 'legacy' | 'modern'): Peer {
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
      close: async () => undefined,
    }),
  };
}

function pairs(option: string, args: Args = {}): string[] {
  const entries = Object.entries(args).map(([key, value]) => `${key}=${value}`);
  return entries.length === 0 ? [] : [option, ...entries];
}

export const peers: readonly Peer[] = [
  sdkV1,
  sdkV2('SDK v2 (2025 by default)', '2025-11-25'),
  sdkV2('SDK v2 (2026-07-28)', '2026-07-28'),
  inspector('MCP Inspector CLI (2025)', '2025-11-25', 'legacy'),
  inspector('MCP Inspector CLI (2026-07-28)', '2026-07-28', 'modern'),
];
