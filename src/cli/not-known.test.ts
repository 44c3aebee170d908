import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keyFrom, notKnown } from './not-known.ts';

const url = 'http://127.0.0.1:8080';
const key = `plk_abcd1234_${'A'.repeat(43)}`;

test('a 401 says what is possible: a key, another key, or a browser', () => {
  const asked = notKnown({ url }, '{"error":"not_authenticated","login":"/auth/login"}');
  assert.match(`${asked.message} ${asked.remedy}`, /asks who calls.*ploinky key create/);
  const revoked = notKnown(
    { url, key },
    '{"error":"invalid_token","message":"the API key is not known here"}',
  );
  assert.match(revoked.message, /the key in PLOINKY_API_KEY is not known, or revoked/);
  const expired = notKnown({ url, key }, '{"error":"invalid_token","message":"the API key has expired"}');
  assert.match(expired.message, /the key in PLOINKY_API_KEY has expired/);
  for (const shown of [{ url }, { url, key }]) {
    const sso = notKnown(
      shown,
      '{"error":"not_authenticated","login":"/auth/login?returnTo=%2F","mode":"sso"}',
    );
    assert.match(sso.message, /auth\.mode sso/);
    assert.doesNotMatch(`${sso.message} ${sso.remedy}`, /key create/);
    assert.ok(sso.remedy?.includes(`${url}/auth/login?returnTo=%2F in a browser`), sso.remedy);
  }
  assert.match(notKnown({ url }, '<html>').message, /asks who calls/);
});

test('what can be no key is refused before it is sent', () => {
  for (const good of [undefined, '', key, 'eyJh.eyJp.c2ln']) assert.equal(keyFrom(good), good);
  for (const bad of ['plk_abcd', `${key}\n`, ` ${key}`, 'secret', `${key}A`])
    assert.throws(() => keyFrom(bad), /the key in PLOINKY_API_KEY is not known, or revoked/);
});
