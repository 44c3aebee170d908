import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { startAgentServer } from '../../bench/harness/agent-server.ts';
import { until } from '../../bench/harness/scope.ts';
import { type HostileCase, type Refusal, slowest } from '../case.ts';
import { type Answer, openSession, send } from '../client.ts';
import type { Place } from '../place.ts';

// Regular expressions and URI templates that an agent brings with it, and text from a client that makes naive
// implementations take forever. The agent `patterns` is the product's agent-server with such tools.

const evil: readonly { readonly pattern: string; readonly text: string }[] = [
  { pattern: '^(a+)+$', text: `${'a'.repeat(50_000)}!` },
  { pattern: '^(a|aa)+$', text: `${'a'.repeat(50_000)}!` },
  { pattern: '^(a|a)*$', text: `${'a'.repeat(50_000)}!` },
  { pattern: '^([a-zA-Z]+)*$', text: `${'a'.repeat(50_000)}1` },
  { pattern: '(x+x+)+y', text: 'x'.repeat(50_000) },
  { pattern: '^(.*a){20}$', text: `${'a'.repeat(5_000)}!` },
  { pattern: '\\s+$', text: `${' '.repeat(50_000)}x` },
  { pattern: '^(?=(a+)+$)', text: `${'a'.repeat(50_000)}!` },
  { pattern: '^(a+)\\1+$', text: `${'a'.repeat(20_000)}!` },
  { pattern: '^(\\p{L}+)+$', text: `${'é'.repeat(20_000)}!` },
  { pattern: '^a{1,1000}{1,1000}$', text: 'a'.repeat(50_000) },
  { pattern: '(((((a*)*)*)*)*)*b', text: 'a'.repeat(50_000) },
];

const evilTools = evil.map(({ pattern }, index) => ({
  name: `match${index}`,
  command: ['true'],
  inputSchema: {
    type: 'object',
    properties: {
      text: { type: 'string', pattern },
      keys: { type: 'object', patternProperties: { [pattern]: {} } },
    },
    required: ['text'],
  },
}));

const templates = [
  '{a}'.repeat(600),
  '{+a}{b*}'.repeat(200),
  'x{a}y'.repeat(300),
  '{a{b{c}}}'.repeat(100),
  '{'.repeat(2_000),
];

/** Schemas that make a check grow without bounds, and arguments that do. */
const doubling = {
  type: 'object',
  $ref: '#/$defs/a0',
  $defs: Object.fromEntries(
    Array.from({ length: 40 }, (_, index) => {
      const next = { $ref: `#/$defs/a${index + 1}` };
      return [`a${index}`, index === 39 ? {} : { allOf: [next, next] }];
    }),
  ),
};
const unique = { type: 'object', properties: { text: {}, list: { type: 'array', uniqueItems: true } } };

const mcp = {
  tools: [
    ...evilTools,
    { name: 'doubling', command: ['true'], inputSchema: doubling },
    { name: 'endless', command: ['true'], inputSchema: { type: 'object', $ref: '#' } },
    { name: 'unique', command: ['true'], inputSchema: unique },
    {
      name: 'plain',
      command: ['true'],
      inputSchema: { type: 'object', properties: { text: { pattern: '^a+$' } } },
    },
  ],
  resources: templates.map((template, index) => ({
    name: `t${index}`,
    template: `evil://${template}`,
    command: ['true'],
  })),
};

const started = new WeakMap<Place, Promise<void>>();
/** The agent `patterns`, once a place. */
function patternAgent(place: Place): Promise<void> {
  const known = started.get(place) ?? startPatternAgent(place);
  started.set(place, known);
  return known;
}

async function startPatternAgent({ scope, api, router }: Place): Promise<void> {
  const { agent, identity, key } = await api.createAgent('patterns');
  const server = await startAgentServer(scope, { mcp, identity, key });
  await api.publish(agent, { uid: server.instance, address: `unix:${server.socket}` });
  await until('the tools are known', async () => {
    const headers = await openSession(router.port, path);
    const answer = await send(router.port, path, { jsonrpc: '2.0', id: 1, method: 'tools/list' }, headers);
    return answer.json?.result?.tools?.length === mcp.tools.length || undefined;
  });
}

const path = '/mcps/patterns/mcp';

async function ask({ router: { port } }: Place, method: string, params: object): Promise<Answer> {
  return send(port, path, { jsonrpc: '2.0', id: 1, method, params }, await openSession(port, path));
}

async function call(place: Place, name: string, args: object): Promise<Refusal> {
  const answer = await ask(place, 'tools/call', { name, arguments: args });
  assert.equal(answer.status, 200, `${name}: ${answer.text.slice(0, 200)}`);
  // A pattern that might run for long is not checked, which the agent-server's log says.
  return { answer: answer.json?.error === undefined ? 'not checked' : 'refused', ms: answer.ms };
}

/** The same in a process of its own, which has a second: the expression itself, as most validators would run it. */
function isEndless({ pattern, text }: (typeof evil)[number]): boolean {
  const program = `new RegExp(${JSON.stringify(pattern)}, 'u').test(${JSON.stringify(text)})`;
  const { error } = spawnSync(process.execPath, ['-'], { input: program, timeout: 1_000 });
  return (error as NodeJS.ErrnoException | undefined)?.code === 'ETIMEDOUT';
}

export const patterns: readonly HostileCase[] = [
  {
    name: 'patterns of tools that backtrack without end',
    async attack(place) {
      await patternAgent(place);
      const refusals: Refusal[] = [];
      for (const [index, { text }] of evil.entries())
        refusals.push(await call(place, `match${index}`, { text, keys: { [text.slice(0, 5_000)]: 1 } }));
      return slowest(refusals);
    },
    async control(place) {
      await patternAgent(place);
      assert.equal((await call(place, 'plain', { text: 'aaa' })).answer, 'not checked');
      assert.equal((await call(place, 'plain', { text: 'b' })).answer, 'refused');
      const [first] = evil;
      assert.ok(first !== undefined && isEndless(first));
      return 'the plain engine takes more than a second for one; harmless patterns are checked';
    },
  },
  {
    name: 'schemas and arguments whose check has no end',
    async attack(place) {
      await patternAgent(place);
      const list = Array.from({ length: 30_000 }, (_, index) => ({ index }));
      const refusals = [
        await call(place, 'doubling', { text: 'x' }),
        await call(place, 'endless', { text: 'x' }),
        await call(place, 'unique', { list }),
      ];
      assert.deepEqual(new Set(refusals.map(({ answer }) => answer)), new Set(['refused']));
      return slowest(refusals);
    },
    async control(place) {
      await patternAgent(place);
      assert.equal((await call(place, 'unique', { list: [{ a: 1 }, { a: 2 }] })).answer, 'not checked');
      return 'a short list is compared and served';
    },
  },
  {
    name: 'URI templates that match in many ways',
    async attack(place) {
      await patternAgent(place);
      const uris = [
        'a'.repeat(8_000),
        'a/'.repeat(4_000),
        'xy'.repeat(4_000),
        'x'.repeat(1_000_000),
        '%'.repeat(8_000),
      ];
      const refusals: Refusal[] = [];
      for (const uri of uris) {
        const answer = await ask(place, 'resources/read', { uri: `evil://${uri}` });
        assert.equal(answer.status, 200, answer.text.slice(0, 200));
        refusals.push({ answer: answer.json?.error === undefined ? 'read' : 'refused', ms: answer.ms });
      }
      return slowest(refusals);
    },
    async control(place) {
      await patternAgent(place);
      const answer = await ask(place, 'resources/templates/list', {});
      assert.equal(answer.json?.result?.resourceTemplates?.length, templates.length);
      return 'the templates are listed as they are';
    },
  },
];
