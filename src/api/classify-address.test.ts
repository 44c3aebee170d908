import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { classifyAddress } from './classify-address.ts';

describe('classifyAddress', () => {
  const table: Record<ReturnType<typeof classifyAddress>, string[]> = {
    public: [
      '1.1.1.1',
      '203.0.113.80',
      '172.15.255.255',
      '172.32.0.1',
      '100.63.255.255',
      '100.128.0.1',
      '2606:4700:4700::1111',
      '::ffff:1.1.1.1',
      '64:ff9b::101:101',
      '2002:101:101::1',
    ],
    private: [
      '10.0.0.1',
      '172.16.0.1',
      '172.31.255.255',
      '192.168.1.1',
      '100.64.0.1',
      '198.18.0.1',
      'fc00::1',
      'fd12:3456::1',
      'fec0::1',
      '::ffff:10.0.0.1',
      '::ffff:a00:1',
      '0:0:0:0:0:ffff:192.168.1.1',
      '64:ff9b::10.0.0.1',
      '64:ff9b:1::a00:1',
      '2002:a00:1::1',
      '2001:0:a00:1:0:0:fefe:fefe',
    ],
    forbidden: [
      '0.0.0.0',
      '127.0.0.1',
      '127.255.255.255',
      '169.254.169.254',
      '192.0.0.192',
      '100.100.100.200',
      '168.63.129.16',
      '224.0.0.1',
      '239.255.255.250',
      '255.255.255.255',
      '::',
      '::1',
      'fe80::1',
      'fe80::1%eth0',
      'ff02::1',
      'fd00:ec2::254',
      '::127.0.0.1',
      '::ffff:127.0.0.1',
      '::ffff:7f00:1',
      '::ffff:0:127.0.0.1',
      '::ffff:169.254.169.254',
      '64:ff9b::7f00:1',
      '2002:7f00:1::',
      // Teredo whose client is 127.0.0.1, inverted.
      '2001:0:101:101:0:0:80ff:fffe',
      // ISATAP of 127.0.0.1.
      '2606:4700::5efe:7f00:1',
    ],
  };
  for (const [kind, addresses] of Object.entries(table)) {
    for (const address of addresses) {
      it(`takes ${address} for ${kind}`, () => assert.equal(classifyAddress(address), kind));
    }
  }
});
