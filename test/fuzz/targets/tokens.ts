import assert from 'node:assert/strict';
import { codeOf } from '#kit/errors.ts';
import { systemRandom } from '#kit/random.ts';
import { audienceOf } from '#wire/caller.ts';
import { readClaims } from '#wire/claims.ts';
import { readClaimsText } from '#wire/claims-text.ts';
import { readExecutionLine } from '#wire/execution-line.ts';
import { parseStrict, signCompact, verifyCompact } from '#wire/jws.ts';
import { createKeyRing, type WireKey } from '#wire/keys.ts';
import { readTaskLine } from '#wire/task-line.ts';
import { mintInvocation, openToken } from '#wire/token.ts';
import { type FuzzTarget, unless } from '../target.ts';

const key: WireKey = { kid: 'fuzz', secret: Buffer.alloc(32, 7) };
const ring = createKeyRing([key]);
const now = 1_750_000_000_000;
const token = mintInvocation(key, {
  ...{ agent: { namespace: 'default', name: 'demo', uid: 'u' }, instance: 'i', caller: 'router:first-party' },
  user: { sub: 'u', id: 'u', email: 'u@example.org', username: 'u', roles: ['admin'] },
  ...{ call: { tool: 'echo', arguments: {} }, now, random: systemRandom, scopes: ['read'], delegation: key },
  mcp: { session: 's', revision: '2025-11-25', capabilities: {} },
});
const claims = Buffer.from(token.split('.')[1] ?? '', 'base64url');
const isRejection = (error: unknown) => codeOf(error) === 'InvocationRejected';

/** Nobody who does not have the key makes a token; whatever is sent is refused with a reason. */
function jwt(input: Buffer): void {
  const text = input.toString('latin1');
  const opened = unless(isRejection, () => openToken(text, ring, now));
  if (opened !== undefined) assert.equal(text, token);
  audienceOf(text);
}

function judged(read: () => object): string {
  return unless(isRejection, () => JSON.stringify(read())) ?? 'refused';
}

/** What an agent, which has the key, could sign. */
function signedClaims(input: Buffer): void {
  const text = input.toString('utf8');
  // A longer token is refused unread.
  if (Buffer.byteLength(text) > 4_000) return;
  const { payload } = verifyCompact(signCompact(key, text === '' ? '{}' : text), ring);
  const again = payload.toString('utf8');
  assert.equal(
    judged(() => readClaimsText(again)),
    judged(() => readClaims(parseStrict(again))),
  );
}

/** Lines of an agent-server, for whom nobody vouches. */
function changeLines(input: Buffer): void {
  const value = unless(
    (error) => error instanceof SyntaxError,
    () => JSON.parse(input.toString('utf8')) as unknown,
  );
  readTaskLine(value);
  if (typeof value !== 'object' || value === null) return;
  const line = readExecutionLine(value as Record<string, unknown>);
  if (line !== undefined) assert.match(line.id, /^[0-9a-f]{16}$/);
}

export const tokenTargets: readonly FuzzTarget[] = [
  {
    name: 'jwt',
    seeds: [token, 'a.b.c', 'eyJhbGciOiJub25lIn0.e30.', `${token}=`, token.toUpperCase()],
    words: ['.', '=', '-', '_', '+', '/', 'eyJhbGciOiJub25lIn0', 'e30', '\0', 'é'],
    run: jwt,
  },
  {
    name: 'claims',
    seeds: [claims, '{}', '{"typ":"invocation"}'],
    words: [
      '"',
      ',',
      ':',
      '{',
      '}',
      '[',
      ']',
      ',"bh":"',
      ',"jti":"',
      '","usr":',
      ',"del":"',
      'null',
      '"act":{"sub":"a"}',
      '"hop":1',
      ' ',
      '\\',
    ],
    run: signedClaims,
  },
  {
    name: 'change-lines',
    seeds: [
      '{"type":"task","key":"u/1","id":"t","status":"running","resultBytes":1}',
      '{"type":"execution","id":"0123456789abcdef","tool":"t","input":{},"finishedAt":null}',
    ],
    words: ['"', ',', ':', '{', '}', 'null', '1e999', '"status":"completed"', '"id":', '"__proto__":', '[]'],
    run: changeLines,
  },
];
