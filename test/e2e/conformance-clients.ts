import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
} from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { inspector } from './inspector-clients.ts';
import { answer, type ListKind, namesIn, type Peer, toolResult } from './peer.ts';
import { pythonPeers } from './python-clients.ts';

// Three MCP clients by others in each era that they speak; those made with Python are in python-clients.ts. Unlike the clients of the examples they give whole
// results, so that a test can look at every member.

const info = { name: 'e2e', version: '1.0.0' };
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

export const peers: readonly Peer[] = [
  sdkV1,
  sdkV2('SDK v2 (2025 by default)', '2025-11-25'),
  sdkV2('SDK v2 (2026-07-28)', '2026-07-28'),
  inspector('MCP Inspector CLI (2025)', '2025-11-25', 'legacy'),
  inspector('MCP Inspector CLI (2026-07-28)', '2026-07-28', 'modern'),
  ...pythonPeers,
];
