import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { clientAddress, networkOf, trustList } from './client-address.ts';

function from(remoteAddress: string, forwarded?: string): IncomingMessage {
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
  return { socket: { remoteAddress }, headers } as unknown as IncomingMessage;
}

test('X-Forwarded-For counts from a trusted proxy alone, and its last untrusted address', () => {
  const trusted = trustList(['10.0.0.0/8', '192.0.2.7']);
  assert.equal(clientAddress(from('203.0.113.5', '1.2.3.4'), trusted), '203.0.113.5', 'anybody can send it');
  assert.equal(clientAddress(from('10.1.1.1', '6.6.6.6, 198.51.100.9'), trusted), '198.51.100.9');
  assert.equal(clientAddress(from('::ffff:10.1.1.1', '198.51.100.9, 192.0.2.7'), trusted), '198.51.100.9');
  assert.equal(clientAddress(from('10.1.1.1', 'nonsense'), trusted), '10.1.1.1');
  assert.throws(() => trustList(['somewhere']));
});

test('a client has a whole network of IPv6', () => {
  assert.equal(networkOf('192.0.2.7'), '192.0.2.7');
  for (const address of ['2001:db8::1', '2001:0DB8:0:0:a:b:c:d', '2001:db8:0:0::'])
    assert.equal(networkOf(address), '2001:db8:0:0::/64', address);
  assert.equal(networkOf('2001:db8:1:2:3:4:5:6'), '2001:db8:1:2::/64');
  assert.equal(networkOf('fe80::1%eth0'), 'fe80:0:0:0::/64');
  assert.equal(networkOf('::1'), '0:0:0:0::/64');
  assert.equal(networkOf(''), '');
});
