import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { McpSurface } from '#routing/surface.ts';
import {
  type CorpusQuery,
  corpusQueries,
  corpusTools,
  heldOutQueries,
} from '#test/fixtures/search/corpus.ts';
import { mergeParts } from '../catalog/merge-parts.ts';
import { buildIndex } from './build-index.ts';
import type { EverydayWords } from './everyday-words.ts';
import { searchTools } from './query.ts';
import { routerTools } from './router-tools.ts';

const corpus = corpusTools();
const tools = corpus.map(({ agent, ...item }) => ({ agent, name: item.name, item }));
const index = buildIndex(tools);

/** The requests whose tool is not among the first five. */
function missesOf(queries: readonly CorpusQuery[], everyday?: EverydayWords): string[] {
  return queries.flatMap(({ agent, tool, text }) => {
    const found = searchTools(index, text, { limit: 5, ...(everyday && { everyday }) });
    const names = found.map((match) => tools[match.tool]);
    if (names.some((one) => one?.agent === agent && one.name === tool)) return [];
    return [`"${text}" → ${names.map((one) => one?.name).join(', ')}; not ${tool}`];
  });
}

test('the right tool is among the first five for at least 90 of 100 requests in plain words', (t) => {
  const misses = missesOf(corpusQueries());
  t.diagnostic(`right tool in the top 5: ${100 - misses.length} of 100`);
  for (const miss of misses) t.diagnostic(miss);
  assert.equal(corpus.length, 300);
  assert.ok(misses.length <= 10);
});

test('requests that the everyday words were not chosen by find their tool mostly', (t) => {
  const queries = heldOutQueries();
  const alone = missesOf(queries, new Map()).length;
  const misses = missesOf(queries).length;
  t.diagnostic(`held out: ${queries.length - misses} of ${queries.length}`);
  t.diagnostic(
    `without everyday words: ${queries.length - alone}, and ${100 - missesOf(corpusQueries(), new Map()).length} of the 100`,
  );
  assert.ok(misses < alone && misses <= queries.length * 0.3);
});

test('two tools are listed in a twentieth of the bytes of 300', (t) => {
  const parts = Object.entries(Object.groupBy(tools, (tool) => tool.agent)).map(([agent, own = []]) => ({
    agent,
    items: own.map((tool) => tool.item),
  }));
  const surface: McpSurface = {
    kind: 'mcp',
    source: 'x/y',
    namespace: 'x',
    place: { host: '*', path: '/mcp' },
    mode: 'Aggregate',
    naming: 'Conflict',
    tools: undefined,
    agents: parts.map((part) => part.agent),
  };
  const view = mergeParts(parts, surface, 'tools');
  const bytes = (list: readonly unknown[]) => Buffer.byteLength(JSON.stringify({ tools: list }));
  const all = bytes(view.items.map((entry) => entry.item));
  const two = bytes(routerTools(view));
  t.diagnostic(
    `tools/list: ${all} bytes for ${view.items.length} tools, ${two} with search (${(all / two).toFixed(0)}×)`,
  );
  assert.equal(view.items.length, 300);
  assert.ok(two * 20 <= all);
});

test('300 tools are indexed in 20 ms and searched in 1 ms', (t) => {
  const best = (times: number, run: () => void) => {
    const taken = Array.from({ length: times }, () => {
      const started = performance.now();
      run();
      return performance.now() - started;
    });
    return Math.min(...taken);
  };
  const build = best(10, () => buildIndex(tools));
  const queries = corpusQueries();
  const searchAll = () => {
    for (const { text } of queries) searchTools(index, text, { limit: 5 });
  };
  const query = best(5, searchAll) / queries.length;
  t.diagnostic(`index ${build.toFixed(1)} ms, query ${query.toFixed(3)} ms`);
  assert.ok(build <= 20, `${build} ms`);
  assert.ok(query <= 1, `${query} ms`);
});
