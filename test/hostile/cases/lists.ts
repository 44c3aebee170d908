import assert from 'node:assert/strict';
import { alongside } from '../alongside.ts';
import type { HostileCase } from '../case.ts';
import { assertServes, callOf, openSession, send } from '../client.ts';
import { type HostilePlace, modes, routeOf, startHostilePlace } from '../hostile-place.ts';

// What a hostile agent lists behind a Route that it shares with an honest one, whose tools must be there all the same.

export const start = startHostilePlace;

/** What the list says of an agent that is left out; those that are not in here are merely harmless. */
const missing: Readonly<Record<string, RegExp>> = {
  'deep-schema': /nests deeper than 64 levels/,
  'endless-list': /longer than 16777216 bytes/,
  'pages-of-megabytes': /longer than 16777216 bytes/,
  'endless-pages': /on more than 100 pages/,
  'long-names': /a name of more than 4096 characters/,
  'a-million-tools': /longer than 16777216 bytes|more than 10000 tools/,
  'no-list': /its tools are no list/,
};

interface Listed {
  readonly tools: readonly { readonly name: string }[];
  readonly _meta?: { readonly 'ploinky.dev/errors'?: readonly { readonly message: string }[] };
}

/** Gives what is said of the hostile agent. */
async function look({ router: { port } }: HostilePlace, mode: string): Promise<string> {
  const path = routeOf(mode);
  const headers = await openSession(port, path);
  let bytes = 0;
  let told = 'nothing of it does harm';
  for (const method of ['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list']) {
    const answer = await send(port, path, { jsonrpc: '2.0', id: 1, method }, headers);
    assert.equal(answer.status, 200, `${mode} ${method}: ${answer.text.slice(0, 300)}`);
    bytes += answer.text.length;
    assert.doesNotMatch(answer.text, /[\u200b\u202e]/);
    if (method !== 'tools/list') continue;
    const listed = answer.json?.result as Listed;
    assert.ok(
      listed.tools.some(({ name }) => name === 'honest_echo'),
      `${mode}: the honest tools are gone`,
    );
    assert.ok(listed.tools.every(({ name }) => typeof name === 'string' && name.length <= 128));
    const [error] = listed._meta?.['ploinky.dev/errors'] ?? [];
    const expected = missing[mode];
    if (expected !== undefined) assert.match(error?.message ?? '', expected, mode);
    if (error !== undefined) told = error.message.replace(/^.*: /, '');
  }
  const call = await send(port, path, callOf('fine', 1, {}, 'honest_echo'), headers);
  assert.equal(call.json?.result?.content?.[0]?.text, 'fine', call.text.slice(0, 300));
  for (const name of [`h-${mode}___proto__`, '__proto__', 'constructor', `h-${mode}_toString`])
    assert.ok((await send(port, path, callOf('x', 1, {}, name), headers)).status < 500);
  assert.ok(bytes < 40_000_000, `${mode}: lists of ${bytes} bytes`);
  return told;
}

export const hostileLists: readonly HostileCase<HostilePlace>[] = modes
  .filter((mode) => mode !== 'calls' && mode !== 'flood')
  .map((mode) => ({
    name: `an agent’s lists: ${mode}`,
    async attack(place) {
      const { outcome, latencies } = await alongside(place, () => look(place, mode));
      await assertServes(place.router.port);
      return { answer: outcome, ms: latencies.at(-1) ?? Number.NaN };
    },
    async control(place) {
      await look(place, 'calls');
      const { port } = place.router;
      const headers = await openSession(port, routeOf('calls'));
      const answer = await send(
        port,
        routeOf('calls'),
        { jsonrpc: '2.0', id: 1, method: 'tools/list' },
        headers,
      );
      const { tools } = answer.json.result as Listed;
      assert.ok(tools.some(({ name }) => name === 'h-calls_echo'));
      return 'the tools of an agent with honest lists are all there';
    },
  }));
