import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientOfRoute, type RouteClient } from '../../testing/route-client.ts';

const limits = { timeout: 30_000 };
const resource = (uri: string) => ({ uri, name: uri });
const link = { name: 'link', inputSchema: { type: 'object' } };
const agents = [
  { name: 'a', tools: [link], resources: [resource('doc://one'), resource('doc://own')] },
  {
    name: 'b',
    tools: [{ ...link, _meta: { ui: { resourceUri: 'ui://view' } } }],
    resources: [resource('doc://one'), resource('ui://view')],
    templates: [{ uriTemplate: 'db://{id}', name: 'rows' }],
  },
];

async function uris({ send }: RouteClient): Promise<string[]> {
  const { json } = await send('resources/list');
  return json.result.resources.map(({ uri }: { uri: string }) => uri);
}

test(
  'a URI that two agents have says whose it is, wherever it occurs; the others stay',
  limits,
  async (t) => {
    const client = await clientOfRoute(t, agents);
    const { send } = client;
    assert.deepEqual(await uris(client), [
      'ploinky://a/doc://one',
      'doc://own',
      'ploinky://b/doc://one',
      'ui://view',
    ]);
    const read = await send('resources/read', { uri: 'ploinky://b/doc://one' });
    assert.deepEqual(read.json.result.contents, [
      { uri: 'ploinky://b/doc://one', text: 'b reads doc://one' },
    ]);
    const { result } = (await send('tools/call', { name: 'a_link', arguments: { uri: 'doc://one' } })).json;
    assert.equal(result.content[0].uri, 'ploinky://a/doc://one');
    assert.equal(result.content[1].resource.uri, 'ploinky://a/doc://one');
    assert.equal(result._meta.ui.resourceUri, 'ploinky://a/doc://one');
    assert.equal(result.content[2].text, 'doc://one');
    assert.deepEqual(result.structuredContent, { uri: 'doc://one' });
    const bare = await send('resources/read', { uri: 'doc://one' });
    assert.deepEqual(bare.json.error.data.agents, ['a', 'b']);
  },
);

test('an answer in which no URI changes is the agent’s, byte for byte', limits, async (t) => {
  const { send } = await clientOfRoute(t, agents);
  await send('resources/list');
  const reply = await send('tools/call', { name: 'a_link', arguments: { uri: 'doc://own' } });
  assert.equal(reply.json.result.content[0].uri, 'doc://own');
  assert.ok(reply.text.startsWith('{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"resource_link"'));
});

test('Always qualifies every URI, ui:// keeps its scheme, and links of tools follow', limits, async (t) => {
  const client = await clientOfRoute(t, agents, { mcp: { naming: 'Always' } });
  assert.deepEqual(await uris(client), [
    'ploinky://a/doc://one',
    'ploinky://a/doc://own',
    'ploinky://b/doc://one',
    'ui://b.ploinky/view',
  ]);
  const tools = (await client.send('tools/list')).json.result.tools;
  assert.equal(tools[1]._meta.ui.resourceUri, 'ui://b.ploinky/view');
  const templates = (await client.send('resources/templates/list')).json.result.resourceTemplates;
  assert.equal(templates[0].uriTemplate, 'ploinky://b/db://{id}');
  const row = await client.ask('resources/read', { uri: 'ploinky://b/db://7' });
  assert.deepEqual(row.json.result.contents, [{ uri: 'ploinky://b/db://7', text: 'b reads db://7' }]);
  const completion = {
    ref: { type: 'ref/resource', uri: 'ploinky://b/db://{id}' },
    argument: { name: 'id', value: '' },
  };
  assert.deepEqual((await client.send('completion/complete', completion)).json.result.completion.values, [
    'b',
  ]);
  const asked = client.router.agents[1]?.seen.at(-1)?.body ?? '';
  assert.equal(JSON.parse(asked).params.ref.uri, 'db://{id}');
});

test('a Route’s filter holds for what is listed and for what is read', limits, async (t) => {
  const filter = {
    allow: ['doc://*'],
    deny: ['*own'],
    rename: [{ agent: 'b', from: 'doc://*', to: 'papers://*' }],
  };
  const client = await clientOfRoute(t, agents, { mcp: { resources: filter } });
  assert.deepEqual(await uris(client), ['doc://one', 'papers://one']);
  const read = async (uri: string) => (await client.send('resources/read', { uri })).json;
  assert.deepEqual((await read('papers://one')).result.contents[0], {
    uri: 'papers://one',
    text: 'b reads doc://one',
  });
  assert.equal((await read('doc://one')).result.contents[0].text, 'a reads doc://one');
  for (const uri of ['doc://own', 'ui://view', 'db://7', 'ploinky://a/doc://own', 'ploinky://b/ui://view'])
    assert.equal((await read(uri)).error.code, -32602, uri);
});

test('a Single surface neither lists nor reads what its Route denies', limits, async (t) => {
  const [one] = agents.map((agent) => ({ ...agent, prompts: [{ name: 'greet' }, { name: 'part' }] }));
  assert.ok(one);
  const single = { selector: undefined, agents: [{ name: 'a' }] };
  for (const filters of [{ resources: { deny: ['*own'] } }, { prompts: { deny: ['part'] } }]) {
    const client = await clientOfRoute(t, [one], { ...single, mcp: { mode: 'Single', ...filters } });
    const read = async (uri: string) => (await client.send('resources/read', { uri })).json;
    const isDenied = 'resources' in filters;
    assert.deepEqual(await uris(client), isDenied ? ['doc://one'] : ['doc://one', 'doc://own']);
    assert.equal((await read('doc://one')).result.contents[0].text, 'a reads doc://one');
    assert.equal((await read('doc://own')).error?.code, isDenied ? -32602 : undefined);
    const prompt = (await client.send('prompts/get', { name: 'part' })).json;
    assert.equal(prompt.error?.code, isDenied ? undefined : -32602);
  }
});

test('prompts are filtered and renamed as tools are', limits, async (t) => {
  const prompts = [{ name: 'greet' }, { name: 'part' }, { name: 'say hello' }];
  const filter = { deny: ['part'], rename: [{ from: 'gr*', to: 'welcome_*' }] };
  const { send } = await clientOfRoute(t, [{ name: 'a', prompts }], { mcp: { prompts: filter } });
  const names = (await send('prompts/list')).json.result.prompts.map(({ name }: { name: string }) => name);
  assert.equal(names[0], 'welcome_eet');
  assert.match(names[1], /^say_hello_[0-9a-f]{8}$/);
  const got = await send('prompts/get', { name: names[1] });
  assert.equal(got.json.result.messages[0].content.text, 'a say hello');
  assert.equal((await send('prompts/get', { name: 'part' })).json.error.code, -32602);
});

test('behind one agent a resource that no list has can be read', limits, async (t) => {
  const { send } = await clientOfRoute(t, [{ name: 'a' }]);
  const read = await send('resources/read', { uri: 'made://up' });
  assert.equal(read.json.result.contents[0].text, 'a reads made://up');
});

test('what is hidden in names and descriptions does not reach clients', limits, async (t) => {
  const hidden = `adds${String.fromCodePoint(0xe0041)}\u202E numbers\u001B[31m`;
  const tools = [{ name: 'ad\u200Bd', description: hidden, inputSchema: { type: 'object' } }];
  const { send } = await clientOfRoute(t, [{ name: 'a', tools }]);
  const [tool] = (await send('tools/list')).json.result.tools;
  assert.match(tool.name, /^ad_d_[0-9a-f]{8}$/);
  assert.equal(tool.description, 'adds numbers');
  const called = await send('tools/call', { name: tool.name, arguments: { text: 'x' } });
  assert.equal(called.json.result.content[0].text, 'a: x');
});

test('text that people do not see is left out on whichever page of a list it is', limits, async (t) => {
  const tools = ['one', 'two', 'three', 'four', 'five'].map((name) => ({
    name,
    title: name,
    inputSchema: { type: 'object' },
  }));
  for (const at of tools.keys()) {
    const some = tools.map((tool, index) =>
      index === at ? { ...tool, title: `${tool.title}\u202E` } : tool,
    );
    const { ask } = await clientOfRoute(t, [
      { name: 'a', tools: some },
      { name: 'b', tools },
    ]);
    const listed: { title: string }[] = (await ask('tools/list')).json.result.tools;
    const titles = tools.map(({ title }) => title);
    assert.deepEqual(
      listed.map(({ title }) => title),
      [...titles, ...titles],
    );
  }
});
