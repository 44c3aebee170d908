import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createRedactor, redacted } from './redact.ts';
import { formsOf } from './redact-forms.ts';

const secret = 'pässw/rd+"1 2"\n!';
const chunksOf = (bytes: Buffer, sizes: readonly number[]): Buffer[] => {
  const chunks: Buffer[] = [];
  let at = 0;
  for (const size of sizes) {
    chunks.push(bytes.subarray(at, at + size));
    at += size;
  }
  return [...chunks, bytes.subarray(at)];
};
const streamed = (secrets: readonly string[], chunks: readonly Buffer[]) => {
  const stream = createRedactor(secrets).stream();
  return Buffer.concat([...chunks.map((chunk) => stream.push(chunk)), stream.flush()]).toString();
};

describe('A redactor', () => {
  it('takes a value out in every form that it knows', () => {
    const { text } = createRedactor([secret]);
    const shown = [
      secret,
      JSON.stringify({ a: secret }),
      encodeURIComponent(secret),
      new URLSearchParams({ a: secret }).toString(),
      Buffer.from(secret).toString('base64'),
      Buffer.from(`user:${secret}`).toString('base64'),
      Buffer.from(`x${secret}yy`).toString('base64url'),
    ];
    for (const form of shown) {
      assert.ok(text(form).includes(redacted), form);
      assert.doesNotMatch(text(form), /ssw|UNzd|w6Rzc3/, form);
    }
  });
  it('leaves everything else as it is, and short values alone', () => {
    assert.equal(createRedactor([secret]).text('nothing to hide'), 'nothing to hide');
    assert.equal(createRedactor(['1234567']).text('1234567'), '1234567');
    assert.equal(createRedactor(['1234567']).size, 0);
    assert.equal(createRedactor(['12345678']).text('a12345678b'), `a${redacted}b`);
  });
  it('takes the lines of a key out, not its first one', () => {
    const pem = '-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49\n-----END PRIVATE KEY-----\n';
    const { text } = createRedactor([pem]);
    assert.equal(text('-----BEGIN PRIVATE KEY-----'), '-----BEGIN PRIVATE KEY-----');
    assert.equal(text('line MIGHAgEAMBMGByqGSM49.'), `line ${redacted}.`);
  });
  it('prefers the longer of two that begin alike, wherever the chunks are cut', () => {
    const both = ['abcdefgh', 'abcdefghXYZ'];
    const bytes = Buffer.from('1abcdefghXYZ2abcdefgh3');
    for (let cut = 0; cut <= bytes.length; cut += 1)
      assert.equal(streamed(both, chunksOf(bytes, [cut])), `1${redacted}2${redacted}3`);
  });
  it('holds back only what may be the beginning of a value', () => {
    const stream = createRedactor(['secret-value']).stream();
    assert.equal(Buffer.from(stream.push(Buffer.from('line\nsec'))).toString(), 'line\n');
    assert.equal(Buffer.from(stream.push(Buffer.from('ond\n'))).toString(), 'second\n');
  });
  it('says the same whatever the chunks are, and no form of a value is left', () => {
    const word = fc.stringMatching(/^[ab/+ "%é]{8,14}$/);
    fc.assert(
      fc.property(
        fc.array(word, { minLength: 1, maxLength: 3 }),
        fc.array(fc.oneof(fc.nat({ max: 2 }), fc.string()), { maxLength: 8 }),
        fc.array(fc.nat({ max: 9 }), { maxLength: 12 }),
        (secrets, pieces, sizes) => {
          const whole = pieces
            .map((piece) => (typeof piece === 'string' ? piece : (secrets[piece] ?? '')))
            .join('');
          const said = createRedactor(secrets).text(whole);
          assert.equal(streamed(secrets, chunksOf(Buffer.from(whole), sizes)), Buffer.from(said).toString());
          const kept = said.split(redacted);
          for (const form of secrets.flatMap(formsOf))
            for (const part of kept) assert.ok(!part.includes(form));
        },
      ),
      { numRuns: 300 },
    );
  });
});
