import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientOfRoute } from '../../testing/route-client.ts';

const limits = { timeout: 30_000 };
const tool = (name: string) => ({ name, inputSchema: { type: 'object' } });
const many = Array.from({ length: 19 }, (_, index) => ({ name: `a${index}`, tools: [tool(`t${index}`)] }));
const agents = [...many, { name: 'stuck', hang: ['tools/list'] }];

test(
  'one of twenty that hangs costs its Route’s deadline once and is named; the others are there',
  limits,
  async (t) => {
    const backends = { deadlineMilliseconds: 2_000 };
    const { send } = await clientOfRoute(t, agents, { backends });
    const started = performance.now();
    const first = (await send('tools/list')).json.result;
    const waited = performance.now() - started;
    assert.ok(waited >= 1_990 && waited < 10_000, `${waited} ms`);
    assert.equal(first.tools.length, 19);
    assert.deepEqual(first._meta['ploinky.dev/errors'], [
      { agent: 'stuck', message: 'did not answer within 2000 ms' },
    ]);
    const again = performance.now();
    await send('tools/list');
    assert.ok(performance.now() - again < 1_500, 'the second list does not wait');
  },
);

test(
  'with Fail a list without one agent is an error that names it; calls to others go on',
  limits,
  async (t) => {
    const backends = { deadlineMilliseconds: 2_000, failureMode: 'Fail' } as const;
    const { send, router } = await clientOfRoute(t, agents, { backends });
    const { error } = (await send('tools/list')).json;
    assert.equal(error.code, -32000);
    assert.match(error.message, /'stuck' \(did not answer within 2000 ms\)/);
    assert.deepEqual(error.data, { agents: ['stuck'] });
    const called = await send('tools/call', { name: 't3', arguments: { text: 'x' } });
    assert.equal(called.json.result.content[0].text, 'a3: x');
    assert.ok(router.agents.every(({ refused }) => refused.length === 0));
  },
);

test('instructions and extensions of the agents are merged, named and bounded', limits, async (t) => {
  const ui = (type: string) => ({ extensions: { 'io.example/ui': { mimeTypes: [type] } } });
  const said = [
    {
      name: 'a',
      instructions: 'Ask a\u202E first.',
      capabilities: { ...ui('text/html'), resources: { subscribe: true } },
    },
    { name: 'b', instructions: 'b'.repeat(5_000), capabilities: ui('text/plain') },
    { name: 'mute' },
  ];
  const { ask } = await clientOfRoute(t, said);
  const { capabilities, instructions } = (await ask('server/discover')).json.result;
  assert.deepEqual(capabilities.extensions, { 'io.example/ui': { mimeTypes: ['text/html', 'text/plain'] } });
  assert.deepEqual(capabilities.resources, { listChanged: true, subscribe: true });
  assert.match(instructions, /\n\na: Ask a first\.\n\nb: b{2000}$/);
});

test('an agent that says nothing of itself does not hold up a session', limits, async (t) => {
  const started = performance.now();
  const silent = [
    { name: 'a', instructions: 'hello' },
    { name: 'stuck', hang: ['server/discover'] },
  ];
  const { ask } = await clientOfRoute(t, silent, {}, { limits: { aboutWaitMs: 50 } });
  const { capabilities, instructions } = (await ask('server/discover')).json.result;
  assert.ok(performance.now() - started < 5_000);
  assert.match(instructions, /a: hello$/);
  assert.deepEqual(capabilities.resources, { listChanged: true });
});

test('one agent alone speaks for itself', limits, async (t) => {
  const { ask } = await clientOfRoute(t, [{ name: 'a', instructions: 'Say please.' }]);
  assert.equal((await ask('server/discover')).json.result.instructions, 'Say please.');
});

test('an agent whose answers nest too deep is missing; the others are listed', limits, async (t) => {
  const deep = JSON.parse(`${'{"a":'.repeat(100)}1${'}'.repeat(100)}`);
  const agents = [
    { name: 'a', tools: [tool('good')], instructions: 'hello' },
    { name: 'deep', tools: [{ ...tool('bad'), inputSchema: deep }], capabilities: { extensions: deep } },
  ];
  const { send, ask } = await clientOfRoute(t, agents);
  const { result } = (await send('tools/list')).json;
  assert.deepEqual(
    result.tools.map(({ name }: { name: string }) => name),
    ['good'],
  );
  const [missing] = result._meta['ploinky.dev/errors'];
  assert.match(missing.message, /'deep' answered JSON that nests deeper than 64 levels/);
  const said = (await ask('server/discover')).json.result;
  assert.match(said.instructions, /a: hello$/);
  assert.equal(said.capabilities.extensions?.a, undefined);
});
