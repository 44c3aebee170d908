import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { oncePerObject } from '#kit/memo.ts';
import type { Access, AllowRule } from '#routing/access.ts';
import type { RoutingTable } from '#routing/table.ts';
import { routeNamed } from '#routing/testing.ts';
import type { Authenticator } from '../../auth/authenticator.ts';
import type { FakeAgentOptions } from '../../testing/fake-state.ts';
import { agentOf, editableTables, startTestRouter } from '../../testing/harness.ts';

/** Rules over real connections: who somebody is comes with a header that only these tests believe. */

const limits = { timeout: 30_000 };
const realm = 'default/people';
const path = '/team/mcp';
const roles = ['viewer', 'editor', 'operator', 'admin'] as const;

const headerAuthenticator: Authenticator = {
  identify({ headers }) {
    const { 'x-test-role': role, 'x-test-scopes': scopes } = headers;
    if (typeof role !== 'string' || role === '') return undefined;
    const user = { sub: role, id: role, email: '', username: role, roles: [role] };
    const limited = typeof scopes === 'string' ? { scopes: scopes.split(' ') } : {};
    return { user, proof: 'password', realm, ...limited, expires: Number.POSITIVE_INFINITY };
  },
};

interface Given {
  readonly agents: readonly Omit<FakeAgentOptions, 'master'>[];
  ofRoute?: readonly AllowRule[];
  ofAgent?: readonly AllowRule[];
  readonly mcp?: object;
}

/** A Route over the agents at /team/mcp, with these rules of its own and of its first agent. */
async function stage(t: TestContext, { agents, mcp = {}, ...rules }: Given) {
  const source = editableTables();
  const accessWith = (allow: readonly AllowRule[]): Access => ({ mode: 'pwd', realm, issuers: [], allow });
  const current = oncePerObject((table: RoutingTable): RoutingTable => {
    const { ofRoute, ofAgent } = rules;
    const surfaces = table.surfaces.map((surface) =>
      surface.source === 'default/team' && ofRoute ? { ...surface, access: accessWith(ofRoute) } : surface,
    );
    if (ofAgent === undefined) return { ...table, surfaces };
    const key = `default/${agents[0]?.name}`;
    const access = accessWith(ofAgent);
    const guarded = new Map([[key, access]]);
    const target = table.targets.get(key);
    return target === undefined
      ? table
      : { ...table, surfaces, guarded, targets: new Map([...table.targets, [key, { ...target, access }]]) };
  });
  const router = await startTestRouter(t, agents, {
    tables: { ...source, current: () => current(source.current()) },
    authenticators: () => [headerAuthenticator],
  });
  const refresh = () =>
    source.set(
      router.agents.map((agent) => agentOf(agent)),
      [routeNamed('team', { selector: {}, paths: ['/team'], mcp })],
    );
  refresh();
  const at = await router.listen();
  return { router, at, rules, refresh };
}

type Stage = Awaited<ReturnType<typeof stage>>;

interface Who {
  readonly role: string;
  readonly scopes?: string;
  readonly path?: string;
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
  readonly json: any;
}

async function send(
  { at }: Stage,
  who: Who,
  body: unknown,
  more: Record<string, string> = {},
): Promise<Answer> {
  const answer = await fetch(`${at}${who.path ?? path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'x-test-role': who.role,
      ...(who.scopes !== undefined && { 'x-test-scopes': who.scopes }),
      ...more,
    },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, json: text === '' ? undefined : JSON.parse(text) };
}

/** Asks in a session of its own. */
async function client(made: Stage, who: Who) {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } };
  const begun = await send(made, who, { jsonrpc: '2.0', id: 0, method: 'initialize', params });
  const session = begun.headers.get('mcp-session-id') ?? '';
  assert.notEqual(session, '', JSON.stringify(begun.json));
  const headers = { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' };
  const ask = (method: string, asked: object = {}) =>
    send(made, who, { jsonrpc: '2.0', id: 1, method, params: asked }, headers);
  return {
    ask,
    headers,
    call: (name: string, args: object = {}) => ask('tools/call', { name, arguments: args }),
    tools: async (): Promise<string[]> =>
      (await ask('tools/list')).json.result.tools.map(({ name }: { name: string }) => name),
    command: (body: object) => send(made, who, body),
  };
}

const twenty = Array.from({ length: 20 }, (_, index) => {
  const verb = ['read', 'write', 'run', 'drop'][index % 4] ?? '';
  return { name: `${verb}_${index}`, inputSchema: { type: 'object' } };
});
const byRole: AllowRule[] = [
  { tools: ['read_*'] },
  { tools: ['write_*'], roles: ['editor', 'operator'] },
  { tools: ['run_*'], roles: ['operator'] },
  { tools: ['*'], roles: ['admin'] },
];
const seenBy = { viewer: 5, editor: 10, operator: 15, admin: 20 };

for (const [where, rules] of Object.entries({ Route: { ofRoute: byRole }, Agent: { ofAgent: byRole } })) {
  test(
    `rules of the ${where}: for 4 roles and 20 tools, what is listed can be called and nothing else`,
    limits,
    async (t) => {
      const made = await stage(t, { agents: [{ name: 'demo', tools: twenty }], ...rules });
      const paths = where === 'Agent' ? [path, '/mcp', '/mcps/demo/mcp'] : [path];
      for (const at of paths) {
        for (const role of roles) {
          const { tools, call } = await client(made, { role, path: at });
          const list = await tools();
          assert.equal(list.length, seenBy[role], `${role} at ${at}`);
          for (const { name } of twenty) {
            const before = made.router.agents[0]?.seen.length;
            const { json } = await call(name);
            assert.equal('result' in json, list.includes(name), `${role} calls ${name} at ${at}`);
            if (list.includes(name)) continue;
            assert.match(json.error.message, /was not found/);
            assert.equal(made.router.agents[0]?.seen.length, before, 'the agent was not asked');
          }
        }
      }
    },
  );
}

test(
  'without rules every role sees and calls everything, and one agent passes as it is',
  limits,
  async (t) => {
    const made = await stage(t, { agents: [{ name: 'demo', tools: twenty }] });
    for (const at of [path, '/mcps/demo/mcp']) {
      const { tools, call } = await client(made, { role: 'viewer', path: at });
      // The fake agent's own list has two tools a page.
      assert.equal((await tools()).length, at === path ? 20 : 2);
      assert.ok('result' in (await call('drop_3')).json);
    }
  },
);

test('both hold, the Route’s by what clients call a tool, the Agent’s by what it does', limits, async (t) => {
  const made = await stage(t, {
    agents: [{ name: 'demo', tools: twenty }],
    mcp: { tools: { rename: [{ from: 'drop_*', to: 'read_all_*' }] } },
    ofRoute: [{ tools: ['read_*'] }],
    ofAgent: [{ tools: ['read_*', 'drop_3'] }],
  });
  const { tools, call } = await client(made, { role: 'viewer' });
  assert.deepEqual(await tools(), ['read_0', 'read_all_3', 'read_4', 'read_8', 'read_12', 'read_16']);
  assert.match((await call('read_all_7')).json.error.message, /was not found/);
  assert.ok('result' in (await call('read_all_3')).json);
});

test(
  'no other door: find_tool and call_tool, plain commands, the agent named beside the tool',
  limits,
  async (t) => {
    const agents = [
      { name: 'demo', tools: twenty },
      { name: 'twin', tools: twenty.slice(0, 8) },
    ];
    const made = await stage(t, { agents, ofRoute: byRole, mcp: { optimize: { mode: 'Search', above: 2 } } });
    const { tools, call, command, ask } = await client(made, { role: 'viewer' });
    assert.deepEqual(await tools(), ['find_tool', 'call_tool']);
    const found = (await call('find_tool', { query: 'drop write run read', limit: 50 })).json.result;
    const names = found.structuredContent.tools.map(({ name }: { name: string }) => name);
    // "demo_read_0" is what both have, and no rule names it.
    assert.deepEqual(names.sort(), ['read_12', 'read_16', 'read_8']);
    const inner = (await call('call_tool', { name: 'drop_3', arguments: {} })).json.result;
    assert.ok(inner.isError);
    assert.doesNotMatch(inner.content[0].text, /drop_(?!3")|Nearest/);
    assert.match((await call('drop_11')).json.error.message, /was not found/);
    assert.match(
      (await ask('tools/call', { name: 'drop_11', agent: 'demo' })).json.error.message,
      /not found/,
    );
    const meta = { name: 'drop_11', _meta: { router: { agent: 'demo' } } };
    assert.match((await ask('tools/call', meta)).json.error.message, /not found/);
    assert.equal((await command({ command: 'tool', tool: 'drop_11' })).status, 404);
    assert.equal((await command({ command: 'tool', tool: 'drop_11', agent: 'demo' })).status, 404);
    assert.deepEqual(
      (await command({ command: 'list_tools' })).json.tools.map(({ name }: { name: string }) => name),
      ['read_8', 'read_12', 'read_16'],
    );
    assert.ok(
      made.router.agents.every(({ seen }) => !seen.some(({ body }) => body.includes('"tools/call"'))),
    );
  },
);

test('resources and prompts are what rules name, and the page of a tool comes with it', limits, async (t) => {
  const ui = (name: string) => ({
    ...{ name, inputSchema: { type: 'object' } },
    _meta: { ui: { resourceUri: `ui://demo/${name}` } },
  });
  const made = await stage(t, {
    agents: [
      {
        name: 'demo',
        tools: [ui('read_1'), ui('drop_1')],
        resources: ['doc://open/1', 'doc://secret/1', 'ui://demo/read_1', 'ui://demo/drop_1'].map((uri) => ({
          uri,
          name: uri,
        })),
        templates: [
          { uriTemplate: 'doc://open/{id}', name: 'open' },
          { uriTemplate: 'doc://{any}', name: 'any' },
        ],
        prompts: [{ name: 'hello' }, { name: 'danger' }],
      },
    ],
    ofRoute: [{ tools: ['read_*'], resources: ['doc://open/*'], prompts: ['hello'] }],
  });
  const { ask, command } = await client(made, { role: 'viewer' });
  const { resources } = (await ask('resources/list')).json.result;
  assert.deepEqual(
    resources.map(({ uri }: { uri: string }) => uri),
    ['doc://open/1', 'ui://demo/read_1'],
  );
  const { resourceTemplates } = (await ask('resources/templates/list')).json.result;
  assert.deepEqual(
    resourceTemplates.map(({ name }: { name: string }) => name),
    ['open'],
  );
  for (const uri of ['doc://open/1', 'doc://open/unlisted', 'ui://demo/read_1'])
    assert.ok('result' in (await ask('resources/read', { uri })).json, uri);
  for (const uri of [
    'doc://secret/1',
    'doc://other',
    'ui://demo/drop_1',
    'doc://open/../secret/1',
    'ploinky://demo/doc://secret/1',
  ]) {
    assert.match((await ask('resources/read', { uri })).json.error.message, /not found/, uri);
    assert.match((await ask('resources/subscribe', { uri })).json.error.message, /not found/, uri);
    assert.equal((await command({ command: 'resources/read', uri })).status, 404, uri);
  }
  const { prompts } = (await ask('prompts/list')).json.result;
  assert.deepEqual(
    prompts.map(({ name }: { name: string }) => name),
    ['hello'],
  );
  assert.match((await ask('prompts/get', { name: 'danger' })).json.error.message, /not found/);
  const complete = (ref: object) => ask('completion/complete', { ref, argument: { name: 'a', value: '' } });
  assert.match((await complete({ type: 'ref/prompt', name: 'danger' })).json.error.message, /not found/);
  assert.match(
    (await complete({ type: 'ref/resource', uri: 'doc://{any}' })).json.error.message,
    /not found/,
  );
  assert.ok('result' in (await complete({ type: 'ref/resource', uri: 'doc://open/{id}' })).json);
});

test(
  'a token that only misses scopes is told which, by 403; whom something else keeps out is not',
  limits,
  async (t) => {
    const ofRoute: AllowRule[] = [
      { tools: ['read_*'] },
      { tools: ['write_*'], roles: ['editor'], scopes: ['files:write'] },
    ];
    const made = await stage(t, { agents: [{ name: 'demo', tools: twenty }], ofRoute });
    const narrow = await client(made, { role: 'editor', scopes: 'files:read' });
    assert.equal((await narrow.tools()).length, 5);
    const refused = await narrow.call('write_1');
    assert.equal(refused.status, 403);
    const challenge = refused.headers.get('www-authenticate') ?? '';
    assert.match(challenge, /^Bearer /);
    assert.match(challenge, /error="insufficient_scope"/);
    assert.match(challenge, /scope="files:read files:write"/);
    assert.equal((await narrow.command({ command: 'tool', tool: 'write_1' })).status, 403);
    assert.equal((await narrow.call('drop_3')).status, 200);
    const stranger = await client(made, { role: 'viewer', scopes: 'files:read' });
    const unknown = await stranger.call('write_1');
    assert.equal(unknown.status, 200);
    assert.match(unknown.json.error.message, /was not found/);
    const wide = await client(made, { role: 'editor', scopes: 'files:read files:write' });
    assert.equal((await wide.tools()).length, 10);
    assert.ok('result' in (await wide.call('write_1')).json);
  },
);

test('a list that not everybody sees is for the one who asked, in 2026 as before', limits, async (t) => {
  const made = await stage(t, { agents: [{ name: 'demo', tools: twenty }], ofAgent: byRole });
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const asked = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: meta } };
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' };
  for (const [role, count] of Object.entries(seenBy)) {
    const { json } = await send(made, { role, path: '/mcps/demo/mcp' }, asked, headers);
    assert.equal(json.result.tools.length, count, role);
    assert.equal(json.result.cacheScope, 'private');
  }
  const open = await stage(t, { agents: [{ name: 'demo', tools: twenty }] });
  assert.equal((await send(open, { role: 'x' }, asked, headers)).json.result.cacheScope, 'public');
});

test(
  'a stream is told when rules change what its client may see, and a session goes on by the new ones',
  limits,
  async (t) => {
    const made = await stage(t, { agents: [{ name: 'demo', tools: twenty }], ofAgent: byRole });
    const { tools, headers } = await client(made, { role: 'viewer' });
    assert.equal((await tools()).length, 5);
    const stream = await fetch(`${made.at}${path}`, {
      headers: { ...headers, accept: 'text/event-stream', 'x-test-role': 'viewer' },
    });
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
    assert.ok(reader !== undefined);
    made.rules.ofAgent = [{ tools: ['run_*'] }];
    made.refresh();
    let told = '';
    while (!told.includes('notifications/tools/list_changed'))
      told += (await reader.read()).value ?? assert.fail('ended');
    assert.deepEqual(await tools(), ['run_2', 'run_6', 'run_10', 'run_14', 'run_18']);
    await reader.cancel();
  },
);

test(
  'who shows nothing is let in only as far as an agent is left that asks for nobody',
  limits,
  async (t) => {
    const agents = [{ name: 'demo', tools: twenty }, { name: 'free' }];
    const made = await stage(t, { agents, ofAgent: byRole });
    const { tools, command } = await client(made, { role: '' });
    assert.deepEqual(await tools(), ['echo', 'whoami', 'count']);
    assert.equal((await command({ command: 'ping', agent: 'demo' })).status, 404);
    const alone = await send(made, { role: '', path: '/mcps/demo/mcp' }, { command: 'list_tools' });
    assert.equal(alone.status, 401);
  },
);
