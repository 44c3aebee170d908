import assert from 'node:assert/strict';
import { test } from 'node:test';
import { staticRootAnnotation } from '#api/labels.ts';
import { hasDotSegment, safeFilePath } from '../../safe-path.ts';
import { agentOf, startTestRouter } from '../../testing/harness.ts';
import { post } from '../../testing/mcp-client.ts';

const limits = { timeout: 30_000 };
const get = { method: 'GET' as const };

test(
  'files of an agent come from its agent-server, with Ploinky’s cache times and no cookies',
  limits,
  async (t) => {
    const router = await startTestRouter(t, [{ name: 'demo' }]);
    const page = await post(router, undefined, { ...get, path: '/demo/sub/my%20page.html?x=1' });
    assert.equal(page.text, 'static /static/sub/my%20page.html');
    assert.equal(page.headers['cache-control'], 'public, max-age=60');
    assert.equal(page.headers['set-cookie'], undefined);
    assert.equal(page.headers['x-content-type-options'], 'nosniff');
    const script = await post(router, undefined, { ...get, path: '/demo/a.js' });
    assert.equal(script.headers['cache-control'], 'public, max-age=300');
  },
);

test('folders lead to index.html, the root to the static agent', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }, { name: 'site' }]);
  const [demo, site] = router.agents;
  assert.ok(demo !== undefined && site !== undefined);
  const root = agentOf(site);
  root.metadata.annotations = { [staticRootAnnotation]: 'true' };
  router.tables.set([agentOf(demo), root]);
  const home = await post(router, undefined, { ...get, path: '/' });
  assert.equal(home.status, 302);
  assert.equal(home.headers['location'], '/site/index.html');
  assert.equal(home.headers['cache-control'], 'no-store');
  assert.equal((await post(router, undefined, { ...get, path: '/demo' })).headers['location'], '/demo/');
  assert.equal((await post(router, undefined, { ...get, path: '/demo/' })).text, 'static /static/index.html');
  assert.equal((await post(router, undefined, { ...get, path: '/app.css' })).text, 'static /static/app.css');
});

const traversals = [
  '/demo/../../etc/passwd',
  '/demo/%2e%2e/%2e%2e/etc/passwd',
  '/demo/..%2f..%2fetc%2fpasswd',
  '/demo/%252e%252e%252fetc%252fpasswd',
  '/demo/..%5c..%5cetc%5cpasswd',
  '/demo/..\\..\\etc\\passwd',
  '/demo/....//....//etc/passwd',
  '/demo//etc/passwd',
  '/demo/./a.html',
  '/demo/%c0%ae%c0%ae/etc/passwd',
  '/demo/%e0%80%ae%e0%80%ae/etc/passwd',
  '/demo/a%00.html',
  '/demo/%00',
  '/demo/.env',
  '/demo/.git/config',
  '/demo/sub/.hidden/a.html',
  '/demo/%2egit/config',
  '/demo/a%0d%0aX-Injected:1.html',
  '/demo/%',
  '/demo/%zz',
  '/demo/%uff0e%uff0e/etc/passwd',
  '/demo/..;/etc/passwd',
  '/demo/%2f%2fetc%2fpasswd',
  '/demo/~root/%2e%2e',
  '/demo/a/..',
];
for (const path of traversals) {
  test(`${path} is refused without asking the agent`, limits, async (t) => {
    const router = await startTestRouter(t, [{ name: 'demo' }]);
    const base = await router.listen();
    const { request } = await import('node:http');
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const sent = request(base, { path }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      });
      sent.on('error', reject).end();
    });
    assert.ok(status === 404 || status === 400, String(status));
    assert.deepEqual(router.agents[0]?.seen, []);
  });
}

test('control: without the check the agent would be asked for what lies outside', () => {
  const naive = (rest: string) => `/static${decodeURIComponent(rest)}`;
  assert.equal(naive('/%2e%2e/%2e%2e/etc/passwd'), '/static/../../etc/passwd');
  assert.equal(safeFilePath('/%2e%2e/%2e%2e/etc/passwd'), undefined);
});

test('ordinary names pass, encoded anew', () => {
  assert.equal(safeFilePath('/a/b.html'), 'a/b.html');
  assert.equal(safeFilePath('/%C3%A4%20b.html'), '%C3%A4%20b.html');
  assert.equal(safeFilePath('/a..b/c...d'), 'a..b/c...d');
  assert.equal(safeFilePath(`/${'a'.repeat(3000)}`), undefined);
});

test('API paths may hold escapes, but nothing that any reader could take for a dot segment', () => {
  for (const path of ['/a/b', '/a%2Fb', '/100%25', '/a b', '/x/%7Bid%7D', '/a..b', '/', '/a%20b'])
    assert.equal(hasDotSegment(path), false, path);
  for (const path of [
    '/..',
    '/a/../b',
    '/%2e%2e/x',
    '/..%2fx',
    '/%252e%252e/x',
    '/a/%2e',
    '/a\\..\\b',
    '/..%5cx',
    '/a%00',
    '/%zz',
    '/%c0%ae',
  ])
    assert.equal(hasDotSegment(path), true, path);
});

test('only GET and HEAD', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }]);
  assert.equal((await post(router, undefined, { method: 'PUT', path: '/demo/a.html' })).status, 404);
  assert.deepEqual(router.agents[0]?.seen, []);
});
