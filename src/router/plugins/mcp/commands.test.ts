import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agentOf, startTestRouter } from '../../testing/harness.ts';
import { post } from '../../testing/mcp-client.ts';

const limits = { timeout: 30_000 };
const agents = [
  {
    name: 'demo',
    tools: [
      { name: 'echo', title: 'Echo', description: 'd', inputSchema: { type: 'object' }, outputSchema: {} },
      { name: 'add' },
      { name: 'refuse' },
    ],
    resources: [{ uri: 'text://x', name: 'x', mimeType: 'text/plain' }],
  },
  { name: 'other', tools: [{ name: 'echo', inputSchema: { type: 'object' } }] },
  { name: 'quiet', tools: [] },
];

interface Expected {
  readonly body: Record<string, unknown>;
  readonly status: number;
  readonly answer: unknown;
}

const text = (value: string) => ({ content: [{ type: 'text', text: value }] });

/** Contract §5.1, each row as it is written there. */
const table: Record<string, Expected> = {
  'tool with named arguments': {
    body: { command: 'tool', tool: 'add', arguments: { text: 'hi' } },
    status: 200,
    answer: { result: text('demo: hi'), agent: 'demo', tool: 'add', errors: [] },
  },
  'tool with arguments beside the name': {
    body: { command: 'tools/call', toolName: 'add', text: 'yo' },
    status: 200,
    answer: { result: text('demo: yo'), agent: 'demo', tool: 'add', errors: [] },
  },
  'a tool that has an argument called name': {
    body: { command: 'tool', tool: 'add', name: 'Ana' },
    status: 200,
    answer: { result: text('demo: {"name":"Ana"}'), agent: 'demo', tool: 'add', errors: [] },
  },
  'tool of a named agent': {
    body: { command: 'tool', name: 'echo', agent: 'other', text: 'x' },
    status: 200,
    answer: { result: text('other: x'), agent: 'other', tool: 'echo', errors: [] },
  },
  'resources/read': {
    body: { command: 'resources/read', uri: 'text://x' },
    status: 200,
    answer: {
      resource: { contents: [{ uri: 'text://x', text: 'demo reads text://x' }] },
      agent: 'demo',
      errors: [],
    },
  },
  ping: { body: { command: 'ping', agent: 'demo' }, status: 200, answer: { result: {}, agent: 'demo' } },
  'a missing tool name': {
    body: { command: 'tool' },
    status: 400,
    answer: { error: 'missing tool name (use tool=<name> or toolName=<name>)', errors: [] },
  },
  'ping without agent': {
    body: { command: 'ping' },
    status: 400,
    answer: { error: 'missing agent for ping', errors: [] },
  },
  status: {
    body: { command: 'status' },
    status: 400,
    answer: { error: 'status command is not supported on aggregated endpoint', errors: [] },
  },
  'an unknown command': {
    body: { command: 'foo' },
    status: 400,
    answer: { error: "unknown command 'foo'", errors: [] },
  },
  'an unknown agent': {
    body: { command: 'tool', tool: 'echo', agent: 'zzz' },
    status: 404,
    answer: { error: "agent 'zzz' is not registered", errors: [] },
  },
  'an unknown tool': {
    body: { command: 'tool', tool: 'nope' },
    status: 404,
    answer: { error: "tool 'nope' was not found", errors: [] },
  },
  'an unknown resource': {
    body: { command: 'resources/read', uri: 'text://y' },
    status: 404,
    answer: { error: "resource 'text://y' was not found", errors: [] },
  },
  'a tool of several agents': {
    body: { command: 'tool', tool: 'echo' },
    status: 409,
    answer: { error: "tool 'echo' is provided by multiple agents", agents: ['demo', 'other'], errors: [] },
  },
  'an error of the agent': {
    body: { command: 'tool', tool: 'refuse' },
    status: 500,
    answer: { error: 'MCP error -32602: Tool refuse not found', errors: [] },
  },
};
for (const [what, { body, status, answer }] of Object.entries(table)) {
  test(`command mode: ${what}`, limits, async (t) => {
    const router = await startTestRouter(t, agents);
    const reply = await post(router, body);
    assert.equal(reply.status, status, reply.text);
    assert.deepEqual(reply.json, answer);
  });
}

test('list_tools and its aliases give tools, agents without any, and errors', limits, async (t) => {
  const router = await startTestRouter(t, agents);
  for (const command of ['list_tools', 'methods', 'tools', 'tools/list']) {
    const { json } = await post(router, { command });
    assert.deepEqual(json.emptyAgents, ['quiet']);
    assert.deepEqual(json.errors, []);
    assert.deepEqual(json.tools[0], {
      name: 'demo_echo',
      title: 'Echo',
      description: 'd',
      inputSchema: { type: 'object' },
      annotations: { router: { agent: 'demo' } },
    });
  }
});

test('list_resources and its alias', limits, async (t) => {
  const router = await startTestRouter(t, agents);
  for (const command of ['list_resources', 'resources']) {
    const { json } = await post(router, { command });
    const resource = {
      name: 'x',
      uri: 'text://x',
      mimeType: 'text/plain',
      annotations: { router: { agent: 'demo' } },
    };
    assert.deepEqual(json, { resources: [resource], errors: [] });
  }
});

test(
  'no agent at all is 503, agents that cannot be listed 502, one that cannot be called 503',
  limits,
  async (t) => {
    const none = await startTestRouter(t, []);
    assert.equal((await post(none, { command: 'list_tools' })).status, 503);
    const stuck = await startTestRouter(t, [{ name: 'demo', hang: ['tools/list'] }], {
      limits: { listTimeoutMs: 50 },
    });
    assert.equal((await post(stuck, { command: 'list_tools' })).status, 502);
    const away = await startTestRouter(t, [{ name: 'demo' }], { limits: { readyWaitMs: 50 } });
    await post(away, { command: 'list_tools' });
    const [demo] = away.agents;
    assert.ok(demo !== undefined);
    away.tables.set([agentOf(demo, { ready: false })]);
    const reply = await post(away, { command: 'ping', agent: 'demo' });
    assert.equal(reply.status, 503);
    assert.equal(reply.json.error, "Agent 'demo' is still starting. Try again in a moment.");
  },
);
