import assert from 'node:assert/strict';
import { createHash, scryptSync } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { checkPassword, hashPassword, isLegacyHash, isPasswordHash } from './password.ts';

test('a password is known by its hash, which is another one each time and has its parameters', async () => {
  const [one, two] = await Promise.all([hashPassword('pässword'), hashPassword('pässword')]);
  assert.notEqual(one, two);
  assert.match(one, /^scrypt:32768,8,1:[\w-]{22}:[\w-]{43}$/);
  assert.equal(await checkPassword('pässword', one), true);
  assert.equal(await checkPassword('password', one), false);
  assert.equal(isLegacyHash(one), false);
});

test('a check takes at least 50 ms of work', async () => {
  const stored = await hashPassword('x');
  const before = performance.now();
  await checkPassword('x', stored);
  assert.ok(performance.now() - before >= 50);
});

test('hashes of earlier versions count and are told apart', async () => {
  const salt = 'a1b2c3d4';
  const scrypt = `scrypt:${salt}:${scryptSync('old', salt, 64).toString('hex')}`;
  const sha = `sha256:${createHash('sha256').update('old').digest('hex')}`;
  for (const stored of [scrypt, sha]) {
    assert.equal(await checkPassword('old', stored), true);
    assert.equal(await checkPassword('new', stored), false);
    assert.equal(isLegacyHash(stored), true);
  }
});

test('what is no hash lets nobody in and asks for no memory', async () => {
  const hostile = [
    '',
    'scrypt:',
    'plain',
    'scrypt:1073741824,8,1:aaaaaaaaaaaaaaaaaaaaaa:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
  ];
  for (const stored of hostile) {
    assert.equal(isPasswordHash(stored), false, stored);
    assert.equal(await checkPassword('', stored), false);
  }
  fc.assert(fc.property(fc.string(), (text) => !isPasswordHash(text)));
});
