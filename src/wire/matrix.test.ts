import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, it } from 'node:test';
import { systemRandom } from '#kit/random.ts';
import type { CallBinding } from './binding.ts';
import { signCompact, verifyCompact } from './jws.ts';
import { createKeyRing, deriveAgentKey, type WireKey } from './keys.ts';
import { createReplayWindow } from './replay.ts';
import { demoAgent, type ManualClock, manualClock, masterKey } from './testing.ts';
import { createVerifier, type MintOptions, mintInvocation, openToken, type Verifier } from './token.ts';

// Ways to use a token that is not meant for this call, here, now and once. Each with its control: the token without the
// fault is good, and the fault is all that is wrong with it (its signature and its shape are right).

const key = deriveAgentKey(masterKey(1), demoAgent);
const other = { ...demoAgent, name: 'other', uid: 'a1b2c3d4-0000-4000-8000-000000000002' };
const call: CallBinding = { tool: 'echo', arguments: { text: 'hello' } };

interface Stage {
  readonly clock: ManualClock;
  readonly skewMs: number;
  readonly verifier: Verifier;
  mint(change?: Partial<MintOptions>): string;
  /** A token whose claims somebody who has the key changed. */
  signed(change: (claims: Record<string, unknown>, now: number) => Record<string, unknown>): string;
}

function stage(skewMs: number, keys: readonly WireKey[] = [key]): Stage {
  const clock = manualClock();
  const mint: Stage['mint'] = (change = {}) =>
    mintInvocation(key, {
      ...{ agent: demoAgent, instance: 'w1', caller: 'router:first-party', user: null, call },
      ...{ now: clock.now(), random: systemRandom, ...change },
    });
  return {
    ...{ clock, skewMs, mint },
    verifier: verifierAt(clock, skewMs, 'w1', keys),
    signed(change) {
      const claims = JSON.parse(verifyCompact(mint(), createKeyRing([key])).payload.toString());
      return signCompact(key, JSON.stringify({ ...claims, ...change(claims, clock.now() / 1000) }));
    },
  };
}

function verifierAt(
  clock: ManualClock,
  skewMs: number,
  instance = 'w1',
  keys: readonly WireKey[] = [key],
): Verifier {
  const replay = createReplayWindow({ clock });
  return createVerifier({ ...{ keys, instance, clock, replay, skewMs }, audience: 'agent:default/demo' });
}

const seconds = (value: unknown) => Number(value);

/** Each returns the token and whoever judges it now. */
const attacks: Record<string, (stage: Stage) => { token: string; verifier?: Verifier; call?: CallBinding }> =
  {
    'expired by one second, as far as clocks are trusted': ({ clock, skewMs, mint }) => {
      const token = mint();
      clock.advance(60_000 + skewMs + 1_000);
      return { token };
    },
    'an expiry more than 60 s ahead': ({ signed }) => ({
      token: signed(({ iat }) => ({ exp: seconds(iat) + 61 })),
    }),
    'an expiry far ahead with a late beginning': ({ skewMs, signed }) => ({
      token: signed((_claims, now) => ({ iat: now + skewMs / 1000 + 2, exp: now + skewMs / 1000 + 62 })),
    }),
    'issued in the future': ({ skewMs, mint, clock }) => ({
      token: mint({ now: clock.now() + skewMs + 2_000 }),
    }),
    'another agent’s audience, by a key that both have': ({ mint }) => ({ token: mint({ agent: other }) }),
    'another agent’s key': ({ clock }) => ({
      token: mintInvocation(deriveAgentKey(masterKey(1), other), {
        ...{ agent: demoAgent, instance: 'w1', caller: 'c', user: null, call, now: clock.now() },
        random: systemRandom,
      }),
    }),
    'another workload': ({ mint }) => ({ token: mint({ instance: 'w2' }) }),
    'another tool': ({ mint }) => ({ token: mint(), call: { ...call, tool: 'remove' } }),
    'other arguments': ({ mint }) => ({ token: mint(), call: { ...call, arguments: { text: 'hullo' } } }),
    'another body hash': ({ signed }) => ({ token: signed(() => ({ bh: 'A'.repeat(43) })) }),
    'used before, in the same process': ({ mint, verifier }) => {
      const token = mint();
      verifier.verify(token, call);
      return { token };
    },
    'used before, then a restart': ({ mint, verifier, clock, skewMs }) => {
      const token = mint();
      verifier.verify(token, call);
      clock.advance(1);
      return { token, verifier: verifierAt(clock, skewMs) };
    },
    'not used before, but a restart that cannot know it': ({ mint, clock, skewMs }) => {
      const token = mint();
      clock.advance(1);
      return { token, verifier: verifierAt(clock, skewMs) };
    },
    'used before, at another replica': ({ mint, verifier, clock, skewMs }) => {
      const token = mint();
      verifier.verify(token, call);
      return { token, verifier: verifierAt(clock, skewMs, 'w2') };
    },
    'a clock that is 90 s ahead': ({ mint, clock, skewMs }) => {
      const token = mint();
      clock.jump(90_000 + (skewMs === 0 ? 0 : 1));
      return { token };
    },
    'a clock that is 90 s behind': ({ mint, clock }) => {
      const token = mint();
      clock.jump(-90_000);
      return { token };
    },
    'used before, and a clock that leapt an hour ahead and back': ({ mint, verifier, clock }) => {
      const token = mint();
      verifier.verify(token, call);
      clock.jump(3_600_000);
      for (let count = 0; count < 4; count += 1) {
        clock.advance(11_000);
        verifier.verify(mint(), call);
      }
      clock.jump(-3_600_000);
      return { token };
    },
    'another type of token': ({ signed }) => ({ token: signed(() => ({ typ: 'session' })) }),
    'another issuer': ({ signed }) => ({ token: signed(() => ({ iss: 'agent:default/demo' })) }),
    'another type in the header': ({ mint }) => {
      const [, payload] = mint().split('.');
      const header = Buffer.from(`{"alg":"HS256","typ":"at+jwt","kid":"${key.kid}"}`).toString('base64url');
      const mac = createHmac('sha256', key.secret).update(`${header}.${payload}`).digest('base64url');
      return { token: `${header}.${payload}.${mac}` };
    },
    'no signature': ({ mint }) => ({ token: `${mint().split('.').slice(0, 2).join('.')}.` }),
  };

for (const [where, skewMs] of [
  ['on one machine', 0],
  ['between machines', 30_000],
] as const) {
  describe(`A token ${where}`, () => {
    it('is accepted without any fault: the control', () => {
      const { verifier, mint, signed, clock } = stage(skewMs);
      verifier.verify(mint(), call);
      verifier.verify(
        signed(() => ({})),
        call,
      );
      clock.advance(59_000);
      verifier.verify(mint({ now: clock.now() - 58_000 }), call);
      verifier.verify(mint({ instance: 'w1' }), call);
    });
    for (const [fault, attack] of Object.entries(attacks)) {
      it(`is refused with ${fault}`, () => {
        const staged = stage(skewMs);
        const { token, verifier = staged.verifier, call: asked = call } = attack(staged);
        assert.throws(() => verifier.verify(token, asked), { code: 'InvocationRejected' });
        assert.throws(() => verifier.verify(token, asked), { code: 'InvocationRejected' });
      });
    }
  });
}

/** Faults that the signature and the shape do not show: with nothing but these checked, each attack works. */
const onlyUse = [
  'another agent’s audience, by a key that both have',
  'another workload',
  'another tool',
  'other arguments',
  'another body hash',
  'used before, in the same process',
  'used before, then a restart',
  'used before, at another replica',
];
describe('With the defences off', () => {
  for (const fault of onlyUse) {
    it(`a token is accepted with ${fault}`, () => {
      const staged = stage(30_000);
      const { token } = attacks[fault]?.(staged) ?? assert.fail('no such attack');
      assert.ok(openToken(token, createKeyRing([key]), staged.clock.now()));
    });
  }
  it('an expired token has nothing wrong but its time', () => {
    const staged = stage(0);
    const { token } = attacks['expired by one second, as far as clocks are trusted']?.(staged) ?? {};
    assert.ok(openToken(token, createKeyRing([key]), staged.clock.now() - 2_000));
  });
});

describe('While keys are rotated', () => {
  it('no token is refused: the new key is known before it signs, the old one as long as its tokens live', () => {
    const clock = manualClock();
    const next = deriveAgentKey(masterKey(2), demoAgent);
    const verifiers = ['w1', 'w2'].map((instance) => verifierAt(clock, 30_000, instance, [key]));
    let signing = key;
    const late: { readonly token: string; readonly verifier: Verifier }[] = [];
    const load = (calls: number) => {
      for (let count = 0; count < calls; count += 1) {
        const at = count % 2;
        const token = mintInvocation(signing, {
          ...{ agent: demoAgent, instance: `w${at + 1}`, caller: 'c', user: null, call, now: clock.now() },
          random: systemRandom,
        });
        const verifier = verifiers[at] ?? assert.fail();
        // Some are on their way for a while.
        if (count % 10 === 0) late.push({ token, verifier });
        else verifier.verify(token, call);
        clock.advance(2);
      }
    };
    const arrive = () => {
      for (const { token, verifier } of late.splice(0)) verifier.verify(token, call);
    };
    load(2_000);
    for (const verifier of verifiers) {
      verifier.useKeys([next, key]);
      load(500);
    }
    signing = next;
    arrive();
    load(2_000);
    arrive();
    clock.advance(90_000);
    for (const verifier of verifiers) verifier.useKeys([next]);
    load(2_000);
    arrive();
    const old = mintInvocation(key, {
      ...{ agent: demoAgent, instance: 'w1', caller: 'c', user: null, call, now: clock.now() },
      random: systemRandom,
    });
    assert.throws(() => verifiers[0]?.verify(old, call), { reason: 'jwtVerify: unknown key' });
  });
});
