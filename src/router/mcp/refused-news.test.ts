import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Agent } from '#api/agent.ts';
import { metaKeys } from '#mcp/eras.ts';
import { editablePeople, personNamed } from '../auth/testing/people.ts';
import { agentOf, startTestRouter } from '../testing/harness.ts';
import { openSession, request } from '../testing/mcp-client.ts';
import { openStream } from '../testing/open-stream.ts';

const limits = { timeout: 30_000 };
const uris = ['doc://open', 'doc://pay'];

/** An agent with two resources, of which the rules give what `set` says. */
async function stand(t: TestContext) {
  const people = editablePeople('default/demo-users', [personNamed('ana')]);
  const demo = {
    ...{ name: 'demo', capabilities: { resources: { subscribe: true } } },
    resources: uris.map((uri) => ({ uri, name: uri })),
  };
  const router = await startTestRouter(t, [demo], { people, limits: { streamKeepAliveMs: 50 } });
  const [fake] = router.agents;
  if (fake === undefined) throw new Error('no agent');
  const agent = agentOf(fake);
  const set = (resources: string[]) => {
    const auth: Agent['spec']['auth'] = { ...agent.spec.auth, mode: 'pwd', allow: [{ resources }] };
    router.tables.set([{ ...agent, spec: { ...agent.spec, auth } }]);
  };
  set(['doc://*']);
  const login = await router.inject({
    ...{ method: 'POST', url: '/auth/login', payload: '{"username":"ana","password":"correct horse"}' },
    headers: { host: 'localhost', 'content-type': 'application/json', accept: 'application/json' },
  });
  const cookie = String(login.headers['set-cookie']).split(';')[0] ?? '';
  return { router, fake, set, cookie, base: await router.listen() };
}

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

for (const era of ['a subscription', 'a session'] as const)
  test(
    `${era} hears no more of a resource that rules took away, until they give it back`,
    limits,
    async (t) => {
      const { router, fake, set, cookie, base } = await stand(t);
      const meta = { [metaKeys.protocolVersion]: '2026-07-28', [metaKeys.clientCapabilities]: {} };
      const wish = { _meta: meta, notifications: { resourceSubscriptions: uris } };
      const stream =
        era === 'a session'
          ? await openStream(t, `${base}/mcp`, {
              ...{ method: 'GET', headers: await openSession(router, '/mcp', { cookie }) },
            })
          : await openStream(t, `${base}/mcp`, {
              headers: { cookie, 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' },
              body: request('subscriptions/listen', wish, 'sub'),
            });
      const heard = async () => {
        for (;;) {
          const { method, params } = await stream.next();
          if (method === 'notifications/resources/updated') return params.uri;
        }
      };
      await pause(150);
      const tell = () => {
        for (const uri of ['doc://pay', 'doc://open']) fake.tell('notifications/resources/updated', { uri });
      };
      tell();
      assert.deepEqual([await heard(), await heard()], ['doc://pay', 'doc://open'], 'the control');
      set(['doc://open']);
      await pause(150);
      tell();
      tell();
      assert.deepEqual([await heard(), await heard()], ['doc://open', 'doc://open']);
      set(['doc://*']);
      await pause(150);
      tell();
      assert.deepEqual([await heard(), await heard()], ['doc://pay', 'doc://open'], 'given back');
    },
  );
