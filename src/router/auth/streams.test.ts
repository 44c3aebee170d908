import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import type { ApiKey } from '#api/people.ts';
import { metaKeys } from '#mcp/eras.ts';
import { agentOf, startTestRouter } from '../testing/harness.ts';
import { openSession, request } from '../testing/mcp-client.ts';
import { openStream } from '../testing/open-stream.ts';
import { editablePeople, personNamed } from './testing/people.ts';

const limits = { timeout: 30_000 };
const secret = Buffer.alloc(32, 7);
const key: ApiKey = {
  ...{ id: 'abcd1234', name: 'ci', user: 'local:ana', created: '2026-01-01T00:00:00Z' },
  hash: createHash('sha256').update(secret).digest('hex'),
};
const byKey = { authorization: `Bearer plk_abcd1234_${secret.toString('base64url')}` };
const beatMs = 40;

/** `demo` asks who comes in, `open` does not: anybody may be at `/mcp`. */
async function stand(t: TestContext) {
  const people = editablePeople('default/demo-users', [personNamed('ana')], [key]);
  const subscribable = {
    capabilities: { resources: { subscribe: true } },
    resources: [{ uri: 'doc://a', name: 'a' }],
  };
  const router = await startTestRouter(t, [{ name: 'demo', ...subscribable }, { name: 'open' }], {
    people,
    limits: { streamKeepAliveMs: beatMs },
  });
  const [demo, open] = router.agents.map((agent) => agentOf(agent));
  if (demo === undefined || open === undefined) throw new Error('no agents');
  router.tables.set([{ ...demo, spec: { ...demo.spec, auth: { mode: 'pwd' } } }, open]);
  return { router, people, base: await router.listen() };
}

type Stand = Awaited<ReturnType<typeof stand>>;

/** The three kinds of streams that stay open, each as whoever the headers show. */
async function streamsOf(t: TestContext, { router, base }: Stand, who: Record<string, string>) {
  const meta = { [metaKeys.protocolVersion]: '2026-07-28', [metaKeys.clientCapabilities]: {} };
  const wish = { _meta: meta, notifications: { toolsListChanged: true } };
  const listen = (path: string) =>
    openStream(t, `${base}${path}`, {
      headers: { ...who, 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' },
      body: request('subscriptions/listen', wish, 'sub'),
    });
  const session = async (path: string) =>
    openStream(t, `${base}${path}`, { method: 'GET', headers: await openSession(router, path, who) });
  const streams = [
    await session('/mcp'),
    await listen('/mcp'),
    await session('/mcps/demo/mcp'),
    await listen('/mcps/demo/mcp'),
  ];
  for (const { answer } of streams) assert.equal(answer.status, 200);
  let ended = 0;
  for (const stream of streams) void drain(stream).then(() => (ended += 1));
  return { ended: () => ended, all: streams.length };
}

async function drain({ next }: { next(): Promise<unknown> }): Promise<void> {
  while ((await next().catch(() => undefined)) !== undefined);
}

async function until(holds: () => boolean): Promise<void> {
  for (let tries = 0; tries < 500 && !holds(); tries += 1) await pause(10);
}

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

test('streams of a key end when it is revoked, and not before', limits, async (t) => {
  const made = await stand(t);
  const { ended, all } = await streamsOf(t, made, byKey);
  await pause(5 * beatMs);
  assert.equal(ended(), 0, 'the control');
  made.people.set([personNamed('ana')], []);
  await until(() => ended() === all);
  assert.equal(ended(), all);
});

test('streams of a user end with another role: what they may see is another thing', limits, async (t) => {
  const made = await stand(t);
  const { ended, all } = await streamsOf(t, made, byKey);
  made.people.set([personNamed('ana', { roles: ['viewer'] })], [key]);
  await until(() => ended() === all);
  assert.equal(ended(), all);
});

test('streams of a session end when it is logged out', limits, async (t) => {
  const made = await stand(t);
  const { inject } = made.router;
  const json = { host: 'localhost', 'content-type': 'application/json', accept: 'application/json' };
  const payload = '{"username":"ana","password":"correct horse"}';
  const login = await inject({ method: 'POST', url: '/auth/login', headers: json, payload });
  const cookie = String(login.headers['set-cookie']).split(';')[0] ?? '';
  const { ended, all } = await streamsOf(t, made, { cookie });
  await pause(3 * beatMs);
  assert.equal(ended(), 0, 'the control');
  await inject({ method: 'POST', url: '/auth/logout', headers: { ...json, cookie }, payload: '{}' });
  await until(() => ended() === all);
  assert.equal(ended(), all);
});
