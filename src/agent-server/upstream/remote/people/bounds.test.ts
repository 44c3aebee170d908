import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emptyCatalog, type Source } from '#agent-server/source.ts';
import { codeOf } from '#kit/errors.ts';
import { silentLog } from '#kit/log.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import type { Fetch } from '../fetch.ts';
import { holdPeople } from './people.ts';
import type { Person } from './person.ts';
import { servePeople } from './served-people.ts';
import type { Vault } from './vault.ts';

const back = { redirectUri: 'https://router.test/callback', document: undefined };
const vault: Vault = {
  read: () => undefined,
  write: async () => undefined,
  rotate: async () => undefined,
  settled: async () => undefined,
};

function manyPeople() {
  const clock = createFakeClock();
  let asked = 0;
  const issuer = 'https://auth.test';
  const answers: Fetch = async (address) => {
    asked += 1;
    if (String(address).includes('oauth-protected-resource'))
      return Response.json({ resource: 'https://mcp.test/mcp', authorization_servers: [issuer] });
    const code_challenge_methods_supported = ['S256'];
    const endpoints = { authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` };
    return Response.json({ issuer, ...endpoints, code_challenge_methods_supported });
  };
  const people = holdPeople({
    ...{ url: new URL('https://mcp.test/mcp'), issuer: undefined, secrets: () => ({ headers: {} }) },
    ...{ fetch: answers, clock, log: silentLog, clientId: 'c', scopes: undefined, vault },
  });
  return { clock, people, asked: () => asked };
}

test('however many people begin to log in, the newest of them are known, and discovery is made once a minute', async () => {
  const { clock, people, asked } = manyPeople();
  await people.get('0').begin(back);
  const once = asked();
  const used = people.get('used');
  used.isUsed = true;
  for (let user = 1; user <= 1_200; user += 1) await people.get(String(user)).begin(back);
  assert.equal(asked(), once);
  assert.equal(people.get('used'), used);
  for (const [user, isAway] of [
    ['1200', true],
    ['300', true],
    ['100', false],
    ['0', false],
  ] as const)
    assert.equal(people.get(user).isAway, isAway, user);
  await clock.advance(60_000);
  await people.get('other').begin(back);
  assert.equal(asked(), 2 * once);
});

test('at most 40 people are connected, whoever calls', async () => {
  const person = { isUsed: false, tokens: { isLoggedIn: true } } as unknown as Person;
  let open = 0;
  const source = (): Source => ({
    ...{ settled: Promise.resolve(), catalog: emptyCatalog, onChange: () => () => undefined },
    status: { ready: true, reason: 'Ready', message: '' },
    request: async () => ({}),
    async close() {
      open -= 1;
    },
  });
  const served = servePeople({
    people: { get: () => person },
    open() {
      open += 1;
      return source();
    },
    ...{ clock: createFakeClock(), idleMs: 60_000, onChange: () => undefined },
  });
  const end = Promise.withResolvers<void>();
  const calls = Array.from({ length: 40 }, (_, user) => served.use(String(user), () => end.promise));
  await assert.rejects(
    served.use('one more', async () => undefined),
    (error) => codeOf(error) === 'UpstreamBusy',
  );
  await served.renew('one more');
  assert.equal(open, 40);
  end.resolve();
  await Promise.all(calls);
  await served.use('one more', async () => undefined);
  assert.equal(open, 40);
  await served.close();
});
