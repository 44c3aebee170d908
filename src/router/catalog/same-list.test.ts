import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestRouter } from '../testing/harness.ts';

test('what an agent lists again as before is the same list, and all that was made of it; what it changes is seen', {
  timeout: 20_000,
}, async (t) => {
  const tools = [{ name: 'echo', description: 'first' }];
  const paged = ['a', 'b', 'c'].map((name) => ({ name }));
  const router = await startTestRouter(
    t,
    [
      { name: 'demo', tools },
      { name: 'paged', tools: paged },
    ],
    {
      limits: { listMaxAgeMs: 0 },
    },
  );
  const { views, tables, catalog } = router.services;
  const surface = tables.current().surfaces.find(({ kind }) => kind === 'mcp');
  assert.ok(surface?.kind === 'mcp');
  const asked = () => router.agents[0]?.seen.filter(({ body }) => body.includes('tools/list')).length;
  const target = (name: string) => tables.current().targets.get(`default/${name}`) ?? assert.fail(name);

  await views.of(surface, 'tools');
  const [demo, several] = [catalog.last(target('demo'), 'tools'), catalog.last(target('paged'), 'tools')];
  await views.of(surface, 'tools');
  assert.equal(asked(), 2, 'it was asked again');
  assert.equal(catalog.last(target('demo'), 'tools'), demo);
  assert.notEqual(catalog.last(target('paged'), 'tools'), several, 'a list of several pages is read anew');
  assert.equal((await views.of(surface, 'tools')).items.length, 4);

  tools.splice(0, 1, { name: 'echo', description: 'second' });
  const { items } = await views.of(surface, 'tools');
  assert.equal(items[0]?.item['description'], 'second');
  tools.push({ name: 'more', description: 'third' });
  assert.equal((await views.of(surface, 'tools')).byExposed.size, 5);
});
