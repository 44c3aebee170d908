import assert from 'node:assert/strict';
import { until } from '../../bench/harness/scope.ts';
import { alongside } from '../alongside.ts';
import type { HostileCase } from '../case.ts';
import { assertServes, callOf, jsonHeaders, send } from '../client.ts';
import { type Taken, takeFor } from '../cut-off.ts';
import { type HostilePlace, routeOf, startHostilePlace } from '../hostile-place.ts';
import { answers } from '../programs/hostile-answers.ts';

// A hostile agent is reached as an agent-server of its own making, and behind the product's: one agent alone, whose
// answers are relayed as they are, and behind a Route, where they are looked into. A call in a batch and a plain
// command hold the whole answer.

export const start = startHostilePlace;

interface Way {
  readonly path: string;
  readonly body: unknown;
  /** The router reads the answer before the client gets any of it. */
  readonly isRead: boolean;
  /** Of 2026-07-28, where a client that goes away ends its call. */
  readonly isStateless?: boolean;
}

const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};

function waysOf(tool: string): Record<string, Way> {
  const route = routeOf('calls');
  return {
    alone: { path: '/mcps/h-calls/mcp', body: callOf('x', 1, {}, tool), isRead: false },
    'behind a Route': { path: route, body: callOf('x', 1, {}, `h-calls_${tool}`), isRead: true },
    'in a batch': { path: route, body: [callOf('x', 1, {}, `h-calls_${tool}`)], isRead: true },
    'by a command': { path: route, body: { command: 'tool', tool: `h-calls_${tool}` }, isRead: true },
    'behind the agent-server': {
      path: '/mcps/behind/mcp',
      body: callOf('x', 1, { _meta: meta }, tool),
      isRead: false,
      isStateless: true,
    },
  };
}

/** What is said of an answer that was read and not taken. */
const refusals: Readonly<Record<string, RegExp>> = {
  deep: /nests deeper than 256 levels/,
  'deep-blocks': /nests deeper than 256 levels/,
  'deep-event': /nests deeper than 256 levels/,
  huge: /longer than 67108864 bytes/,
  'wrong-id': /no JSON-RPC answer|somebody else/,
  'no-json': /no JSON-RPC/,
  nothing: /no JSON-RPC/,
  null: /no JSON-RPC/,
  list: /no JSON-RPC/,
  redirect: /redirect|no JSON-RPC/,
  'broken-off': /was lost/,
  'two-framings': /was lost/,
  'huge-header': /was lost/,
  'many-headers': /was lost/,
  'endless-1xx': /more than 32 interim answers/,
  bomb: /compressed|no JSON-RPC/,
};

/** How long a client takes an answer that may never end, in milliseconds. */
const patienceMs = 1_500;
/** Those that do not end by themselves, nor by a limit that is reached so soon. */
const endless = new Set(['endless-json', 'endless-event', 'endless-comments', 'flood', 'huge']);

async function sessionAt(port: number, path: string): Promise<Record<string, string>> {
  const params = { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 't', version: '1' } };
  const opened = await send(port, path, { jsonrpc: '2.0', id: 0, method: 'initialize', params });
  const id = opened.headers.get('mcp-session-id');
  assert.ok(id !== null, opened.text.slice(0, 300));
  return { ...jsonHeaders, 'mcp-session-id': id, 'mcp-protocol-version': '2025-03-26' };
}

function statelessHeaders(body: unknown): Record<string, string> {
  const { params } = body as { params: { name: string } };
  const own = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': params.name };
  return { ...jsonHeaders, ...own };
}

async function take({ router: { port } }: HostilePlace, way: Way, ms: number): Promise<Taken> {
  const { path, body } = way;
  const headers = way.isStateless ? statelessHeaders(body) : await sessionAt(port, path);
  return takeFor(port, path, body, headers, ms);
}

async function takeHonest(place: HostilePlace, how: Way): Promise<true | undefined> {
  const taken = await take(place, how, 20_000);
  return (taken.status === 200 && taken.text.includes('"text":"x"')) || undefined;
}

function judge(name: string, way: string, { isRead }: Way, taken: Taken): string {
  const what = `${name} ${way}: ${taken.status} ${taken.ended} ${taken.text.slice(0, 200)}`;
  assert.ok(taken.status < 300 || taken.status >= 400, what);
  for (const header of ['set-cookie', 'clear-site-data', 'alt-svc', 'location', 'content-encoding'])
    assert.equal(taken.headers[header], undefined, `${what}: ${header}`);
  assert.notEqual(taken.headers['mcp-session-id'], 'mine', what);
  assert.doesNotMatch(taken.text, /smuggled/, what);
  if (!endless.has(name)) assert.notEqual(taken.ended, 'cut', what);
  const expected = refusals[name];
  const isWhole = taken.ended === 'whole';
  if (isRead && expected !== undefined && isWhole) assert.match(taken.text, expected, what);
  return isRead && expected !== undefined && isWhole ? 'an error' : endingOf(taken);
}

function endingOf({ ended, text }: Taken): string {
  if (ended === 'cut') return 'streamed until the client went';
  if (ended === 'broken') return 'broken off';
  return text.includes('"error"') ? 'an error' : 'passed on as data';
}

export const hostileAnswers: readonly HostileCase<HostilePlace>[] = Object.keys(answers)
  .filter((name) => name !== 'echo')
  .map((name) => ({
    name: `an agent’s answer: ${name}`,
    async attack(place) {
      const ways = Object.entries(waysOf(name));
      const { outcome, latencies } = await alongside(place, () =>
        Promise.all(
          ways.map(async ([way, how]) =>
            judge(name, way, how, await take(place, how, patienceMs * (endless.has(name) ? 1 : 20))),
          ),
        ),
      );
      await until('the calls have ended at the agent', async () =>
        (await place.open()) === 0 ? true : undefined,
      );
      await assertServes(place.router.port);
      return { answer: [...new Set(outcome)].join(', '), ms: latencies.at(-1) ?? Number.NaN };
    },
    async control(place) {
      for (const [way, how] of Object.entries(waysOf('echo'))) {
        // An agent-server whose server broke its connections asks it again with growing pauses.
        await until(`an honest answer ${way}`, () => takeHonest(place, how), 90_000);
      }
      return 'an honest answer of the same agent is passed on';
    },
  }));
