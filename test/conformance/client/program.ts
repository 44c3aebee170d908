import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { startAgentServer } from '#agent-server/server.ts';
import { startQueueThread, testConfig } from '#agent-server/testing/harness.ts';
import type { AgentServerConfig } from '#api/agent-server-config.ts';
import { systemClock } from '#kit/clock.ts';
import { silentLog } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';

// What the conformance suite starts as the client to judge: an agent-server whose remote upstream is the suite's server,
// asked by a client of the SDK for everything that is there. The last argument is the server's address; before it,
// `legacy` makes that client one of 2025-11-25, and `machine` or `person` says who logs in.

const url = process.argv.at(-1) ?? '';
const legacy = process.argv.includes('legacy');
const who = ['machine', 'person'].find((one) => process.argv.includes(one));
const context = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}') as {
  toolCalls?: { name: string; arguments: Record<string, unknown> }[];
  client_id?: string;
  client_secret?: string;
  private_key_pem?: string;
};

async function askEverything(client: Client): Promise<void> {
  const { tools } = await client.listTools();
  const listed = tools.map(({ name }) => ({ name, arguments: { a: 5, b: 3, region: 'us-west1' } }));
  const calls = context.toolCalls ?? listed;
  // Whether a call fails is for the suite to judge: some of its servers list tools that they do not serve.
  await Promise.allSettled(calls.map((call) => client.callTool(call)));
  const { resources = [], prompts = [] } = {
    ...(await optional(client.listResources())),
    ...(await optional(client.listPrompts())),
  };
  for (const { uri } of resources) await client.readResource({ uri });
  for (const { name } of prompts) await client.getPrompt({ name });
}

function optional<T extends object>(asked: Promise<T>): Promise<Partial<T>> {
  return asked.catch(() => ({}));
}

async function connect(address: string): Promise<Client> {
  const client = new Client(
    { name: 'conformance', version: '1.0.0' },
    {
      capabilities: { elicitation: { form: { applyDefaults: true } } },
      ...(legacy ? {} : { versionNegotiation: { mode: 'auto' as const } }),
    },
  );
  client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: {} }));
  await client.connect(new StreamableHTTPClientTransport(new URL(`http://${address}/mcp`)));
  return client;
}

/** A browser in which the person has nothing to fill in: one redirect leads back. */
const visit = {
  redirectUri: 'http://localhost:3000/callback',
  document: 'https://conformance-test.local/client-metadata.json',
  async follow(address: URL): Promise<URL> {
    const { headers, status } = await fetch(address, { redirect: 'manual' });
    const location = headers.get('location');
    if (location === null) throw new Error(`No redirect leads back (HTTP ${status})`);
    return new URL(location, address);
  },
};

/** `machine`: the agent logs in as itself; `person`: somebody does. */
function credentials(): Partial<AgentServerConfig> {
  const { client_id: clientId, client_secret: clientSecret, private_key_pem: privateKey } = context;
  const mode = who === 'machine' ? 'clientCredentials' : 'perUser';
  if (who === undefined) return { mcp: { upstream: { url } } };
  return {
    mcp: { upstream: { url, oauth: { mode, ...(clientId !== undefined && { clientId }) } } },
    upstream: {
      headers: {},
      ...(clientSecret !== undefined && { clientSecret }),
      ...(privateKey !== undefined && { privateKey }),
    },
  };
}

const folder = await mkdtemp(join(tmpdir(), 'conformance-client-'));
const main = fileURLToPath(new URL('../../../src/main/agent-server.ts', import.meta.url));
const server = await startAgentServer({
  config: testConfig(folder, { ...credentials(), limits: { drainMs: 500 } }),
  listen: { type: 'tcp', host: '127.0.0.1', port: 0 },
  spawnerCommand: [process.execPath, main, 'spawner'],
  startQueueThread,
  clock: systemClock,
  random: systemRandom,
  log: silentLog,
  withoutTokens: true,
  visit,
});
try {
  await server.settled;
  const client = await connect(server.address);
  await askEverything(client);
  await client.close();
} finally {
  await server.close();
  await rm(folder, { recursive: true, force: true });
}
