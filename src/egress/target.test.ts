import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseAbsoluteForm, parseAuthority } from './target.ts';

describe('parseAuthority', () => {
  it('reads names and addresses with a port', () => {
    assert.deepEqual(parseAuthority('Example.com:443'), { host: 'Example.com', port: 443 });
    assert.deepEqual(parseAuthority('203.0.113.1:80'), { host: '203.0.113.1', port: 80 });
    assert.deepEqual(parseAuthority('[2001:db8::1]:443'), { host: '2001:db8::1', port: 443 });
  });
  for (const text of [
    '',
    'example.com',
    'example.com:',
    'example.com:0',
    'example.com:65536',
    'example.com:443/path',
    'user@example.com:443',
    'exa mple.com:443',
    'example.com\u0000.evil:443',
    '[::1',
    '127.1:443',
    '2130706433:443',
    '0x7f000001:443',
    '0177.0.0.1:443',
    'example.0x7f:443',
    '1.2.3.4.:443',
  ]) {
    it(`refuses ${JSON.stringify(text)}`, () =>
      assert.throws(() => parseAuthority(text), { code: 'BadRequest' }));
  }
});

describe('parseAbsoluteForm', () => {
  it('reads a plain http URL', () => {
    const target = parseAbsoluteForm('http://example.com:8080/a/b?c=d');
    assert.deepEqual(target, {
      host: 'example.com',
      port: 8080,
      path: '/a/b?c=d',
      authority: 'example.com:8080',
    });
    assert.equal(parseAbsoluteForm('http://example.com/').port, 80);
  });
  for (const text of ['/path', 'https://example.com/', 'ftp://x/', 'http://u:p@example.com/', 'http://']) {
    it(`refuses ${text}`, () => assert.throws(() => parseAbsoluteForm(text), { code: 'BadRequest' }));
  }
});
