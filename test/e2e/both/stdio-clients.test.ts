import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Client as ClientV2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as TransportV2 } from '@modelcontextprotocol/client/stdio';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { addConformanceAgent } from '#test/conformance/targets.ts';
import { createPlace, missingPlace, type Place, type Start } from '#test/fixtures/place/place.ts';
import { checkout, runProgram } from '#test/fixtures/workspace/workspace.ts';
import { answer } from '../peer.ts';

// Clients by others that start their servers, through `ploinky mcp`: whole sessions of both revisions.

interface Session {
  readonly revision: string | undefined;
  list(): Promise<string[]>;
  call(name: string, args?: Record<string, unknown>): Promise<unknown>;
  progress(name: string): Promise<number[]>;
  /** Calls and gives up. */
  giveUp(name: string, args: Record<string, unknown>): Promise<void>;
  /** How often it heard that the tools are others now. */
  changes(): number;
  close(): Promise<void>;
}

interface Peer {
  readonly name: string;
  readonly revision: string;
  connect(start: Start): Promise<Session>;
}

const info = { name: 'e2e', version: '1.0.0' };
const capabilities = { elicitation: { form: {} }, sampling: {}, roots: {} };
const sampled = { role: 'assistant', content: { type: 'text', text: 'Paris' }, model: 'm' } as const;

function parametersOf({ file, args, env }: Start) {
  const entries = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return { command: file, args: [...args], env: Object.fromEntries(entries), stderr: 'inherit' as const };
}

const sdkV1: Peer = {
  name: 'SDK v1',
  revision: '2025-11-25',
  async connect(start) {
    const client = new ClientV1(info, { capabilities });
    client.setRequestHandler(ElicitRequestSchema, async () => answer);
    client.setRequestHandler(CreateMessageRequestSchema, async () => sampled);
    client.setRequestHandler(ListRootsRequestSchema, async () => ({ roots: [] }));
    let changes = 0;
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      changes += 1;
    });
    await client.connect(new TransportV1(parametersOf(start)));
    return {
      revision: '2025-11-25',
      list: async () => (await client.listTools()).tools.map(({ name }) => name),
      call: async (name, args = {}) => (await client.callTool({ name, arguments: args })).content,
      async progress(name) {
        const seen: number[] = [];
        await client.callTool({ name }, undefined, { onprogress: ({ progress }) => seen.push(progress) });
        return seen;
      },
      giveUp: (name, args) =>
        assert.rejects(
          client.callTool({ name, arguments: args }, undefined, { signal: AbortSignal.timeout(500) }),
        ),
      changes: () => changes,
      close: () => client.close(),
    };
  },
};

function sdkV2(name: string, revision: string): Peer {
  return {
    name,
    revision,
    async connect(start) {
      let changes = 0;
      const onChanged = () => {
        changes += 1;
      };
      const client = new ClientV2(info, {
        capabilities,
        listChanged: { tools: { autoRefresh: false, onChanged } },
        ...(revision >= '2026-07-28' && { versionNegotiation: { mode: 'auto' } }),
      });
      client.setRequestHandler('elicitation/create', async () => answer);
      client.setRequestHandler('sampling/createMessage', async () => sampled);
      client.setRequestHandler('roots/list', async () => ({ roots: [] }));
      await client.connect(new TransportV2(parametersOf(start)));
      return {
        revision: client.getNegotiatedProtocolVersion(),
        list: async () => (await client.listTools()).tools.map((tool) => tool.name),
        call: async (tool, args = {}) => (await client.callTool({ name: tool, arguments: args })).content,
        async progress(tool) {
          const seen: number[] = [];
          await client.callTool({ name: tool }, { onprogress: ({ progress }) => seen.push(progress) });
          return seen;
        },
        giveUp: (tool, args) =>
          assert.rejects(
            client.callTool({ name: tool, arguments: args }, { signal: AbortSignal.timeout(500) }),
          ),
        changes: () => changes,
        close: () => client.close(),
      };
    },
  };
}

const peers: readonly Peer[] = [
  sdkV1,
  sdkV2('SDK v2 by default', '2025-11-25'),
  sdkV2('SDK v2 of 2026-07-28', '2026-07-28'),
];
const inspector = join(checkout, 'test/peers/node_modules/.bin/mcp-inspector');
const text = (value: string) => [{ type: 'text', text: value }];

describe('ploinky mcp', { skip: missingPlace, timeout: 600_000 }, () => {
  let place: Place;
  before(async () => {
    place = await createPlace({ examples: ['hello'] });
    await place.up(await addConformanceAgent(place.folder));
  });
  after(() => place?.remove());

  for (const peer of peers) {
    for (const args of [['mcp'], ['mcp', '--agent', 'conformance']]) {
      it(`carries whole sessions of ${peer.name} by \`ploinky ${args.join(' ')}\``, async () => {
        const session = await peer.connect(place.start(...args));
        try {
          assert.equal(session.revision, peer.revision);
          await checkSession(session, peer.revision);
        } finally {
          await session.close();
        }
      });
    }
  }

  for (const era of ['legacy', 'modern']) {
    it(`serves the Inspector’s command line in its ${era} era`, async (t) => {
      if (!existsSync(inspector)) return t.skip('test/peers is not installed (npm ci in test/peers)');
      const { file, args, env } = place.start('mcp', '--agent', 'hello');
      const options = ['--protocol-era', era, '--method', 'tools/call', '--tool-name', 'greet'];
      // It starts servers with an environment of its own, as clients do.
      const { KUBECONFIG: kubeconfig } = env;
      const given = kubeconfig === undefined ? [] : ['-e', `KUBECONFIG=${kubeconfig}`];
      const outcome = await runProgram(
        inspector,
        ['--cli', ...given, file, ...args, ...options, '--tool-arg', 'name=Ana'],
        env,
      );
      assert.equal(outcome.code, 0, outcome.stderr + outcome.stdout);
      const { content } = JSON.parse(outcome.stdout) as { content: unknown };
      assert.deepEqual(content, text('Hello, Ana!'));
    });
  }

  it('is started by the very words that `ploinky connect` gives to a client', async () => {
    const printed = JSON.parse(await place.must('connect', 'claude-desktop', '--agent', 'hello')) as {
      mcpServers: { ploinky: { command: string; args: string[]; env?: Record<string, string> } };
    };
    const { command, args, env } = printed.mcpServers.ploinky;
    const [file = '', ...words] = [...place.enter, command, ...args];
    const session = await sdkV1.connect({ file, args: words, env: { ...process.env, ...env } });
    try {
      assert.deepEqual(await session.call('greet', { name: 'Ana' }), text('Hello, Ana!'));
    } finally {
      await session.close();
    }
  });

  it('is told from an address by `ploinky connect`, which gives none that leads nowhere', async () => {
    const { code, stdout, stderr } = await place.ploinky('connect', 'cursor');
    if (place.kind === 'cluster') {
      // Nothing exposes the router of this place.
      assert.equal(code, 1);
      assert.match(stderr, /reached by port-forward only[\s\S]*--stdio/);
      return;
    }
    assert.equal(code, 0, stderr);
    const { url } = (JSON.parse(stdout) as { mcpServers: { ploinky: { url: string } } }).mcpServers.ploinky;
    const health = await fetch(new URL('/health', url));
    assert.equal(health.status, 200);
    assert.equal(new URL(url).pathname, '/mcp');
  });

  it('refuses an agent and a Route that are not there', async () => {
    for (const wrong of [
      ['--agent', 'nobody'],
      ['--route', 'none'],
    ]) {
      const { code, stdout, stderr } = await place.ploinky('mcp', ...wrong);
      assert.equal(code, 4, stderr);
      assert.equal(stdout, '');
      assert.match(stderr, new RegExp(`"${wrong[1]}"`));
    }
  });
});

async function checkSession(session: Session, revision: string): Promise<void> {
  const stateless = revision >= '2026-07-28';
  assert.ok((await session.list()).includes('test_simple_text'));
  assert.deepEqual(await session.call('test_custom_headers', { region: 'eu' }), text('{"region":"eu"}'));
  const asked = stateless
    ? await session.call('test_input_required_result_elicitation')
    : await session.call('test_elicitation', { message: 'Who are you?' });
  const [{ text: said }] = asked as [{ text: string }];
  assert.match(said, stateless ? /^Hello, Ana!$/ : /action=accept.*"username":"Ana"/);
  if (!stateless) {
    assert.deepEqual(await session.call('test_sampling', { prompt: 'x' }), text('LLM response: Paris'));
  }
  // The last may come in one read with the answer, after which the SDKs take none.
  assert.deepEqual((await session.progress('test_tool_with_progress')).slice(0, 2), [0, 50]);
  await session.giveUp('slow_compute', { seconds: 30 });
  const before = session.changes();
  await session.call('test_trigger_tool_change');
  for (let tries = 0; tries < 100 && session.changes() === before; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.ok(session.changes() > before, 'a change of the tools is heard of');
}
