import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemRandom } from '#kit/random.ts';
import { bindMessage, type CallBinding } from './binding.ts';
import { audienceOf, verifyCaller } from './caller.ts';
import { signCompact, verifyCompact } from './jws.ts';
import { createKeyRing, deriveAgentKey, deriveSubkey, principalOf } from './keys.ts';
import { createReplayWindow } from './replay.ts';
import { demoAgent, type ManualClock, manualClock, masterKey } from './testing.ts';
import { createVerifier, type MintOptions, mintInvocation, type Verifier } from './token.ts';

const key = deriveAgentKey(masterKey(1), demoAgent);
const previous = deriveAgentKey(masterKey(2), demoAgent);
const delegation = deriveSubkey(masterKey(1), 'delegation');
const call: CallBinding = { tool: 'echo', arguments: { text: 'hello', n: [1, { b: 2, a: 1 }] } };
const user = { sub: 'u1', id: 'u1', email: 'u@example.org', username: 'u', roles: ['admin'] };

function setUp(): {
  clock: ManualClock;
  verifier: Verifier;
  mint: (change?: Partial<MintOptions>) => string;
} {
  const clock = manualClock();
  const verifier = verifierAt(clock);
  const mint = (change: Partial<MintOptions> = {}) =>
    mintInvocation(key, {
      agent: demoAgent,
      instance: 'w1',
      caller: 'router:first-party',
      user,
      call,
      now: clock.now(),
      random: systemRandom,
      ...change,
    });
  return { clock, verifier, mint };
}

function verifierAt(clock: ManualClock, instance = 'w1'): Verifier {
  const replay = createReplayWindow({ clock });
  return createVerifier({ keys: [key, previous], audience: 'agent:default/demo', instance, clock, replay });
}

function claimsOf(token: string): Record<string, unknown> {
  return JSON.parse(verifyCompact(token, createKeyRing([key])).payload.toString());
}

test('a minted token verifies once and carries the claims of the contract', () => {
  const { verifier, mint, clock } = setUp();
  const claims = verifier.verify(mint({ mcp: { session: 's', revision: '2025-11-25' } }), call);
  assert.equal(claims.typ, 'invocation');
  assert.equal(claims.iss, 'ploinky-router');
  assert.equal(claims.aud, principalOf('default', 'demo'));
  assert.equal(claims.exp - claims.iat, 60);
  assert.equal(claims.iat, Math.floor(clock.now() / 1000));
  assert.equal(Buffer.from(claims.jti, 'base64url').length, 16);
  assert.deepEqual(claims.usr, user);
  assert.deepEqual(claims.scope, [
    'secret:read',
    'secret:write',
    'secret:access',
    'secret:grant',
    'secret:revoke',
  ]);
});

test('the order of argument keys does not change the binding', () => {
  const { verifier, mint } = setUp();
  verifier.verify(mint(), { tool: 'echo', arguments: { n: [1, { a: 1, b: 2 }], text: 'hello' } });
});

test('a token of the previous master key is accepted while both are valid', () => {
  const { verifier, clock } = setUp();
  const token = mintInvocation(previous, {
    agent: demoAgent,
    instance: 'w1',
    caller: 'c',
    user: null,
    call,
    now: clock.now(),
    random: systemRandom,
  });
  verifier.verify(token, call);
});

test('the time to live is clamped to 5 and 60 seconds', () => {
  const { mint } = setUp();
  for (const [asked, given] of [
    [0, 5],
    [600, 60],
    [30, 30],
  ] as const) {
    const claims = claimsOf(mint({ ttlSeconds: asked }));
    assert.equal(Number(claims['exp']) - Number(claims['iat']), given);
  }
});

test('no token is "missing secure wire headers"', () => {
  const { verifier } = setUp();
  assert.throws(() => verifier.verify(undefined, call), { reason: 'missing secure wire headers' });
  assert.throws(() => verifier.verify('', call), { reason: 'missing secure wire headers' });
});

test('a token is good once', () => {
  const { verifier, mint } = setUp();
  const token = mint();
  verifier.verify(token, call);
  assert.throws(() => verifier.verify(token, call), { reason: 'jwtVerify: token replayed' });
});

test('a refused call does not burn the token', () => {
  const { verifier, mint } = setUp();
  const token = mint();
  assert.throws(() => verifier.verify(token, { tool: 'echo', arguments: {} }), {
    reason: 'jwtVerify: body hash mismatch',
  });
  verifier.verify(token, call);
});

test('another tool or other arguments are a body hash mismatch', () => {
  const { verifier, mint } = setUp();
  for (const other of [
    { tool: 'rm', arguments: call.arguments },
    { tool: 'echo', arguments: { text: 'hullo' } },
  ]) {
    assert.throws(() => verifier.verify(mint(), other), { reason: 'jwtVerify: body hash mismatch' });
  }
});

test("another agent's token and another instance's token are refused", () => {
  const { verifier, mint } = setUp();
  const other = { ...demoAgent, name: 'other' };
  assert.throws(() => verifier.verify(mint({ agent: other }), call), {
    reason: 'jwtVerify: audience mismatch',
  });
  assert.throws(() => verifier.verify(mint({ instance: 'w2' }), call), {
    reason: 'jwtVerify: workload mismatch',
  });
  const foreign = mintInvocation(deriveAgentKey(masterKey(1), other), {
    agent: demoAgent,
    instance: 'w1',
    caller: 'c',
    user: null,
    call,
    now: 1,
    random: systemRandom,
  });
  assert.throws(() => verifier.verify(foreign, call), { reason: 'jwtVerify: unknown key' });
});

const times: Record<string, { readonly advance: number; readonly reason: string | undefined }> = {
  'at its expiry': { advance: 60_000, reason: undefined },
  'one second within the skew': { advance: 89_000, reason: undefined },
  'past expiry and skew': { advance: 90_000, reason: 'jwtVerify: token expired' },
  'long past': { advance: 600_000, reason: 'jwtVerify: token expired' },
};
for (const [when, { advance, reason }] of Object.entries(times)) {
  test(`a token is judged right ${when}`, () => {
    const { verifier, mint, clock } = setUp();
    const token = mint();
    clock.advance(advance);
    if (reason === undefined) verifier.verify(token, call);
    else assert.throws(() => verifier.verify(token, call), { reason });
  });
}

test('a token issued more than 30 s in the future is refused, within 30 s accepted', () => {
  const { verifier, mint, clock } = setUp();
  assert.throws(() => verifier.verify(mint({ now: clock.now() + 32_000 }), call), {
    reason: 'jwtVerify: issued in the future',
  });
  verifier.verify(mint({ now: clock.now() + 29_000 }), call);
});

test('a lifetime over 60 s is refused even when signed', () => {
  const { verifier, mint } = setUp();
  const claims = claimsOf(mint());
  for (const seconds of [61, 121, 86_400, 0, -60]) {
    const token = signCompact(key, JSON.stringify({ ...claims, exp: Number(claims['iat']) + seconds }));
    assert.throws(() => verifier.verify(token, call), { reason: 'jwtVerify: lifetime too long' });
  }
});

test('a restart does not reopen the replay window: what was minted before it is refused', () => {
  const { mint, clock, verifier } = setUp();
  const token = mint();
  verifier.verify(token, call);
  clock.advance(5);
  const restarted = verifierAt(clock);
  assert.throws(() => restarted.verify(token, call), { reason: 'jwtVerify: issued before start' });
  restarted.verify(mint(), call);
});

test('a second replica refuses a token of the first', () => {
  const { mint, clock } = setUp();
  assert.throws(() => verifierAt(clock, 'w2').verify(mint(), call), {
    reason: 'jwtVerify: workload mismatch',
  });
});

test('claims of a wrong type or token family are refused', () => {
  const { verifier, mint } = setUp();
  const claims = claimsOf(mint());
  const changes = [
    { typ: 'session' },
    { iss: 'other' },
    { iat: '1' },
    { exp: 1.5 },
    { usr: 'root' },
    { usr: {} },
    { aud: ['agent:default/demo'] },
    { scope: 'all' },
    { jti: 7 },
    { mcp: {} },
    { mcp: { revision: 'r', session: 1 } },
  ];
  for (const change of changes) {
    const token = signCompact(key, JSON.stringify({ ...claims, ...change }));
    assert.throws(
      () => verifier.verify(token, call),
      { reason: 'jwtVerify: malformed claims' },
      JSON.stringify(change),
    );
  }
});

test('duplicate claims are refused', () => {
  const { verifier, mint } = setUp();
  const text = JSON.stringify(claimsOf(mint()));
  const token = signCompact(key, text.replace('{', '{"aud":"agent:default/other",'));
  assert.throws(() => verifier.verify(token, call), { reason: 'jwtVerify: malformed token' });
});

test('messages are bound as the contract says', () => {
  const cases: [object, CallBinding][] = [
    [
      { method: 'tools/call', params: { name: 't', arguments: { a: 1 }, _meta: {} } },
      { tool: 't', arguments: { a: 1 } },
    ],
    [
      { method: 'tools/call', params: { name: 't' } },
      { tool: 't', arguments: {} },
    ],
    [
      { method: 'resources/read', params: { uri: 'x://y', _meta: {} } },
      { tool: 'resources/read', arguments: { uri: 'x://y' } },
    ],
    [{ method: 'tools/list' }, { tool: 'tools/list', arguments: {} }],
    [
      { jsonrpc: '2.0', id: 7, result: { action: 'accept' } },
      { tool: '__response__', arguments: { id: 7, result: { action: 'accept' } } },
    ],
  ];
  for (const [message, binding] of cases) assert.deepEqual(bindMessage(message), binding);
});

test('a delegable token leads back to its agent, user and hop', () => {
  const { mint, clock } = setUp();
  const token = mint({ delegation, hop: 2 });
  assert.equal(audienceOf(token), 'agent:default/demo');
  const check = { agentKeys: [key], delegationKeys: [delegation], instances: ['w1'], now: clock.now() };
  const claims = verifyCaller(token, check);
  assert.deepEqual(claims.usr, user);
  assert.equal(claims.hop, 2);
});

test('an agent cannot delegate with claims it signed itself, for a gone instance, or for ever', () => {
  const { mint, clock } = setUp();
  const check = { agentKeys: [key], delegationKeys: [delegation], instances: ['w1'], now: clock.now() };
  const genuine = claimsOf(mint({ delegation }));
  const forged = signCompact(key, JSON.stringify({ ...genuine, usr: { ...user, id: 'root' } }));
  assert.throws(() => verifyCaller(forged, check), { reason: 'jwtVerify: not delegable' });
  assert.throws(() => verifyCaller(mint(), check), { reason: 'jwtVerify: not delegable' });
  assert.throws(() => verifyCaller(mint({ delegation, hop: 8 }), check), {
    reason: 'jwtVerify: not delegable',
  });
  assert.throws(() => verifyCaller(mint({ delegation }), { ...check, instances: ['w2'] }), {
    reason: 'jwtVerify: workload mismatch',
  });
  assert.throws(() => verifyCaller(mint({ delegation }), { ...check, now: clock.now() + 100_000 }), {
    reason: 'jwtVerify: token expired',
  });
});
