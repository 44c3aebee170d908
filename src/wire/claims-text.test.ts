import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { systemRandom } from '#kit/random.ts';
import { readClaims } from './claims.ts';
import { readClaimsText } from './claims-text.ts';
import { parseStrict, verifyCompact } from './jws.ts';
import { createKeyRing, deriveAgentKey, deriveSubkey } from './keys.ts';
import { demoAgent, masterKey } from './testing.ts';
import { mintInvocation } from './token.ts';

const key = deriveAgentKey(masterKey(1), demoAgent);
const delegation = deriveSubkey(masterKey(1), 'delegation');
const word = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.constantFrom('', ',"bh":"', '","usr":', ',"jti":"', ',"del":"', '"}', '\\', '{', '🙂', 'agent:a/b'),
);
const user = fc.record({
  sub: word,
  id: word,
  email: word,
  username: word,
  roles: fc.array(word, { maxLength: 2 }),
});
const options = fc.record({
  caller: word,
  tool: word,
  user: fc.option(user),
  instance: word,
  hop: fc.nat(9),
  scopes: fc.option(fc.array(word, { maxLength: 2 }), { nil: undefined }),
  tools: fc.option(fc.array(word, { maxLength: 2 }), { nil: undefined }),
  actor: fc.option(fc.record({ sub: word, act: fc.record({ sub: word }) }), { nil: undefined }),
  session: fc.option(word, { nil: undefined }),
  isDelegable: fc.boolean(),
});

type Drawn = typeof options extends fc.Arbitrary<infer Value> ? Value : never;

/** The text of the claims of a token. */
function textOf({ tool, session, isDelegable, ...rest }: Drawn): string {
  const token = mintInvocation(key, {
    ...{
      agent: demoAgent,
      now: 1_750_000_000_123,
      random: systemRandom,
      call: { tool, arguments: {} },
      ...rest,
    },
    ...(session !== undefined && { mcp: { session, revision: '2025-11-25' } }),
    ...(isDelegable && { delegation }),
  });
  return verifyCompact(token, createKeyRing([key])).payload.toString();
}

/** What both ways come to, members in the order in which they stand. */
function judged(read: () => object): string {
  try {
    return JSON.stringify(read());
  } catch (error) {
    return String(error);
  }
}

function assertSame(text: string): void {
  const long = judged(() => readClaims(parseStrict(text)));
  assert.equal(
    judged(() => readClaimsText(text)),
    long,
    text,
  );
  // What was learnt of its parts changes nothing.
  assert.equal(
    judged(() => readClaimsText(text)),
    long,
    text,
  );
}

test('claims that a router writes are read as JSON would be', () => {
  fc.assert(
    fc.property(options, (drawn) => {
      const text = textOf(drawn);
      assertSame(text);
      assert.equal(JSON.stringify(readClaimsText(text)), text);
    }),
    { numRuns: 600 },
  );
});

test('a text that was tampered with is refused or read exactly as JSON would be', () => {
  const pieces = [
    ',"bh":"x"',
    ',"hop":9',
    '"aud":"agent:a/b",',
    ',"iat":1',
    '}',
    '{',
    '"',
    ',',
    ' ',
    '\\',
    '0',
    '"usr":null,',
  ];
  const change = fc.tuple(
    fc.double({ min: 0, max: 1, noNaN: true }),
    fc.nat(40),
    fc.constantFrom('', ...pieces),
  );
  fc.assert(
    fc.property(options, fc.array(change, { minLength: 1, maxLength: 3 }), (drawn, changes) => {
      let text = textOf(drawn);
      for (const [where, cut, piece] of changes) {
        const at = Math.floor(where * text.length);
        text = text.slice(0, at) + piece + text.slice(at + (piece === '' ? cut : 0));
      }
      assertSame(text);
    }),
    { numRuns: 3_000 },
  );
});

test('members that stand twice, in one part or in two, are refused', () => {
  const text = textOf({
    ...{ caller: 'c', tool: 't', user: null, instance: 'w', hop: 1, session: undefined, isDelegable: false },
    ...{ scopes: undefined, tools: undefined, actor: undefined },
  });
  readClaimsText(text);
  const members = JSON.parse(text) as Record<string, unknown>;
  for (const [name, value] of Object.entries(members)) {
    const member = `${JSON.stringify(name)}:${JSON.stringify(value)}`;
    for (const twice of [text.replace('{', `{${member},`), text.replace(/\}$/, `,${member}}`)])
      assert.throws(() => readClaimsText(twice), { code: 'InvocationRejected' }, twice);
  }
});
