import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { safeReturnTo } from './return-to.ts';

const elsewhere = [
  ...['https://evil.example', '//evil.example', '/\\evil.example', '\\\\evil.example', '/\t/evil.example'],
  ...['/\n/evil.example', '///evil.example', 'javascript:alert(1)', 'data:text/html,x', 'http:evil.example'],
  ...[
    '/./\\evil.example',
    '/.//evil.example',
    '/a/..//evil.example',
    '/%0d%0aSet-Cookie:x',
    'evil.example',
    '',
  ],
  ...['/auth/logout', '/auth/login?returnTo=/', `/${'a'.repeat(3_000)}`, '/\u0000', '/ä', '?x', '#x'],
];

test('nothing leads to another host after a login', () => {
  for (const asked of elsewhere) {
    const to = safeReturnTo(asked);
    const landed = new URL(to, 'http://own.example:8080/auth/login');
    assert.equal(landed.origin, 'http://own.example:8080', asked);
    assert.ok(!to.startsWith('//') && !/[\r\n]/.test(to), asked);
  }
  assert.equal(new URL('//evil.example', 'http://own.example/').host, 'evil.example', 'the control');
  const anything = fc.property(fc.string(), (text) => {
    const { origin } = new URL(safeReturnTo(`/${text}`), 'http://own.example');
    return origin === 'http://own.example';
  });
  fc.assert(anything, { numRuns: 2_000 });
});

test('paths of ours are kept as they are', () => {
  for (const path of ['/diary/', '/a/b?c=d&e=%2F', '/x#y', '/auth/upstream/default/mail', '/auth/account'])
    assert.equal(safeReturnTo(path), path);
});
