import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { isObject } from '#kit/json.ts';
import { hmacBytes } from './hmac.ts';
import { decodeStrict, verifyCompact } from './jws.ts';
import { createKeyRing, type WireKey } from './keys.ts';

/** Vectors of C2SP/wycheproof. */
function vectors(name: string): VectorFile {
  return JSON.parse(
    readFileSync(new URL(`../../test/fixtures/vectors/wycheproof-${name}.json`, import.meta.url), 'utf8'),
  );
}
interface VectorFile {
  testGroups: { keySize?: number; tagSize?: number; private?: Jwk; public?: Jwk; tests: Vector[] }[];
}
interface Jwk {
  kty?: string;
  alg?: string;
  kid?: string;
  k?: string;
  use?: string;
  keys?: Jwk[];
}
interface Vector {
  tcId: number;
  comment: string;
  jws: unknown;
  result: 'valid' | 'invalid' | 'acceptable';
  key: string;
  msg: string;
  tag: string;
}

/** What this product would make of a JWK: only symmetric HS256 signing keys; throws for any other. */
function wireKeyOf(jwk: Jwk): WireKey {
  if (jwk.kty !== 'oct' || jwk.alg !== 'HS256' || jwk.use !== 'sig') throw new Error('no HS256 key');
  return { kid: jwk.kid ?? '', secret: Buffer.from(jwk.k ?? '', 'base64url') };
}

/** Called valid although "?" stands in base64url: the MAC is right, but RFC 7515 §2 has no such character. */
const notBase64url = new Set([372, 373]);
/** Called invalid for padding that the file has lost: their text is that of 357, which is valid. */
const samePaddingLost = new Set([367, 370]);

test('every HS256 signature vector is judged right, and every vector of another algorithm is refused', () => {
  let judged = 0;
  for (const group of vectors('json_web_signature_test').testGroups) {
    const jwk = group.private ?? group.public ?? {};
    const symmetric = jwk.kty === 'oct' && jwk.alg === 'HS256';
    const secret = symmetric ? Buffer.from(jwk.k ?? '', 'base64url') : Buffer.from(JSON.stringify(jwk));
    const ring = createKeyRing([{ kid: jwk.kid ?? 'none', secret }]);
    for (const vector of group.tests) {
      const lost = samePaddingLost.has(vector.tcId);
      if (lost) assert.equal(vector.jws, group.tests.find((other) => other.tcId === 357)?.jws);
      const valid = symmetric && (vector.result === 'valid' || lost) && !notBase64url.has(vector.tcId);
      const token = typeof vector.jws === 'string' ? vector.jws : JSON.stringify(vector.jws);
      const judge = () => verifyCompact(token, ring);
      const name = `tcId ${vector.tcId} ${vector.comment}`;
      if (valid) assert.ok(judge().payload.length > 0, name);
      else assert.throws(judge, { code: 'InvocationRejected' }, name);
      judged += 1;
    }
  }
  assert.equal(judged, 401);
});

test('key set vectors: short, empty, mixed and duplicate keys make no key ring', () => {
  let accepted = 0;
  let judged = 0;
  for (const group of vectors('json_web_key_test').testGroups) {
    for (const vector of group.tests) {
      judged += 1;
      const judge = () =>
        verifyCompact(String(vector.jws), createKeyRing((group.private?.keys ?? []).map(wireKeyOf)));
      if (vector.result === 'valid' && group.private?.keys?.every((key) => key.alg === 'HS256')) {
        assert.ok(judge().payload.length > 0, `tcId ${vector.tcId}`);
        accepted += 1;
      } else assert.throws(judge, `tcId ${vector.tcId} ${vector.comment}`);
    }
  }
  assert.deepEqual([judged, accepted], [26, 2]);
});

test('HMAC-SHA256 vectors: every one is judged; what is no full tag of a key of 32 bytes or more is no signature', () => {
  const judged = { right: 0, wrong: 0, short: 0, cut: 0 };
  for (const group of vectors('hmac_sha256_test').testGroups) {
    for (const vector of group.tests) {
      const name = `tcId ${vector.tcId}`;
      const secret = Buffer.from(vector.key, 'hex');
      const tag = Buffer.from(vector.tag, 'hex');
      if (secret.length < 32) {
        assert.throws(() => createKeyRing([{ kid: 'k', secret }]), { code: 'InvalidKey' }, name);
        judged.short += 1;
      } else if (tag.length < 32) {
        const cut = `${forge('{"alg":"HS256","kid":"k"}').split('.', 2).join('.')}.${tag.toString('base64url')}`;
        assert.throws(() => verifyCompact(cut, createKeyRing([{ kid: 'k', secret }])), name);
        judged.cut += 1;
      } else {
        const mac = hmacBytes({ kid: 'k', secret }, Buffer.from(vector.msg, 'hex'));
        assert.equal(mac === tag.toString('base64url'), vector.result === 'valid', name);
        judged[vector.result === 'valid' ? 'right' : 'wrong'] += 1;
      }
    }
  }
  assert.deepEqual(judged, { right: 30, wrong: 54, short: 6, cut: 84 });
});

const key: WireKey = { kid: 'kid1', secret: Buffer.alloc(32, 9) };

function forge(header: string, payload = '{}', secret = key.secret): string {
  const input = `${Buffer.from(header).toString('base64url')}.${Buffer.from(payload).toString('base64url')}`;
  return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`;
}

test('decodeStrict takes exactly what encoding gives', () => {
  const text = fc.stringMatching(/^[A-Za-z0-9_+/= \n?.-]{0,12}$/);
  fc.assert(
    fc.property(text, (given) => {
      const canonical = given !== '' && Buffer.from(given, 'base64url').toString('base64url') === given;
      if (canonical) assert.equal(decodeStrict(given).toString('base64url'), given);
      else assert.throws(() => decodeStrict(given), { code: 'InvocationRejected' });
    }),
    { numRuns: 5_000 },
  );
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1 }), (bytes) =>
      Buffer.from(bytes).equals(decodeStrict(Buffer.from(bytes).toString('base64url'))),
    ),
  );
});

test('a plain header passes, in any order of members', () => {
  assert.ok(
    isObject(verifyCompact(forge('{"kid":"kid1","typ":"JWT","alg":"HS256"}'), createKeyRing([key])).header),
  );
});

const badHeaders: Record<string, string> = {
  'alg none': '{"alg":"none","kid":"kid1"}',
  'alg None': '{"alg":"None","kid":"kid1"}',
  'alg nOnE': '{"alg":"nOnE","kid":"kid1"}',
  'alg RS256': '{"alg":"RS256","kid":"kid1"}',
  'alg hs256': '{"alg":"hs256","kid":"kid1"}',
  'no alg': '{"kid":"kid1"}',
  'no kid': '{"alg":"HS256"}',
  'a duplicate alg': '{"alg":"none","alg":"HS256","kid":"kid1"}',
  'a duplicate kid': '{"kid":"x","alg":"HS256","kid":"kid1"}',
  'a kid that is a path': '{"alg":"HS256","kid":"../../dev/null"}',
  'a kid that is SQL': `{"alg":"HS256","kid":"' or 1=1 --"}`,
  'a kid that is a URL': '{"alg":"HS256","kid":"http://203.0.113.1/key"}',
  'a kid that is a prototype member': '{"alg":"HS256","kid":"__proto__"}',
  'a kid list': '{"alg":"HS256","kid":["kid1"]}',
  jku: '{"alg":"HS256","kid":"kid1","jku":"http://203.0.113.1"}',
  x5u: '{"alg":"HS256","kid":"kid1","x5u":"http://203.0.113.1"}',
  jwk: '{"alg":"HS256","kid":"kid1","jwk":{"kty":"oct","k":"AA"}}',
  crit: '{"alg":"HS256","kid":"kid1","crit":["b64"],"b64":false}',
  'an array': '["HS256"]',
  'no JSON': 'HS256',
};
for (const [what, header] of Object.entries(badHeaders)) {
  test(`a token whose header has ${what} is refused although its MAC is right`, () => {
    assert.throws(() => verifyCompact(forge(header), createKeyRing([key])), { code: 'InvocationRejected' });
  });
}

test('an empty or zero key signs nothing that is accepted', () => {
  for (const secret of [Buffer.alloc(0), Buffer.alloc(32)]) {
    const token = forge('{"alg":"HS256","kid":"kid1"}', '{}', secret);
    assert.throws(() => verifyCompact(token, createKeyRing([key])), {
      reason: 'jwtVerify: signature invalid',
    });
  }
});

test('a token of more than 8 KiB is refused', () => {
  const token = forge('{"alg":"HS256","kid":"kid1"}', JSON.stringify({ long: 'x'.repeat(9000) }));
  assert.throws(() => verifyCompact(token, createKeyRing([key])), { reason: 'jwtVerify: malformed token' });
});
