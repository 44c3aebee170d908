import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
} from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { checkout, runProgram } from '#test/fixtures/workspace/workspace.ts';

/** Three MCP clients by others, each with its own idea of the protocol, behind one small face. */
export interface McpPeer {
  readonly name: string;
  /** Why it cannot run here; undefined: it can. */
  readonly missing: string | undefined;
  connect(url: string): Promise<McpSession>;
}

export interface McpSession {
  listTools(): Promise<string[]>;
  /** The text of the answer's first content. */
  callTool(name: string, args: Readonly<Record<string, string | number>>): Promise<string>;
  close(): Promise<void>;
}

const info = { name: 'e2e', version: '1.0.0' };

function firstText(result: unknown): string {
  const { content } = result as { content?: { text?: string }[] };
  return content?.[0]?.text ?? JSON.stringify(result);
}

const sdkV1: McpPeer = {
  name: 'SDK v1 (2025-11-25)',
  missing: undefined,
  async connect(url) {
    const client = new ClientV1(info);
    await client.connect(new TransportV1(new URL(url)) as Parameters<typeof client.connect>[0]);
    return {
      listTools: async () => (await client.listTools()).tools.map(({ name }) => name),
      callTool: async (name, args) => firstText(await client.callTool({ name, arguments: { ...args } })),
      close: () => client.close(),
    };
  },
};

function sdkV2(name: string, mode: 'auto' | 'legacy'): McpPeer {
  return {
    name,
    missing: undefined,
    async connect(url) {
      const client = new ClientV2(info, mode === 'auto' ? { versionNegotiation: { mode } } : {});
      await client.connect(new TransportV2(new URL(url)));
      return {
        listTools: async () => (await client.listTools()).tools.map((tool) => tool.name),
        callTool: async (tool, args) =>
          firstText(await client.callTool({ name: tool, arguments: { ...args } })),
        close: () => client.close(),
      };
    },
  };
}

const inspectorBin = join(checkout, 'test/peers/node_modules/.bin/mcp-inspector');

async function inspect(url: string, args: readonly string[]): Promise<Record<string, unknown>> {
  const all = ['--cli', url, '--transport', 'http', ...args];
  const { code, stdout, stderr } = await runProgram(inspectorBin, all);
  if (code !== 0) throw new Error(`mcp-inspector exited with ${code}: ${stderr}${stdout}`);
  return JSON.parse(stdout) as Record<string, unknown>;
}

const inspector: McpPeer = {
  name: 'MCP Inspector CLI',
  missing: existsSync(inspectorBin) ? undefined : 'test/peers is not installed (npm ci in test/peers)',
  async connect(url) {
    return {
      async listTools() {
        const { tools } = await inspect(url, ['--method', 'tools/list']);
        return (tools as { name: string }[]).map(({ name }) => name);
      },
      async callTool(name, args) {
        const pairs = Object.entries(args).flatMap(([key, value]) => ['--tool-arg', `${key}=${value}`]);
        return firstText(await inspect(url, ['--method', 'tools/call', '--tool-name', name, ...pairs]));
      },
      close: async () => undefined,
    };
  },
};

export const peers: readonly McpPeer[] = [
  sdkV1,
  sdkV2('SDK v2 (2025 by default)', 'legacy'),
  sdkV2('SDK v2 (2026-07-28)', 'auto'),
  inspector,
];
