import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openRange } from './address-ranges.ts';

describe('what a listed address range opens', () => {
  const table: Record<string, [cidr: string, opened: ReturnType<typeof openRange>]> = {
    'a public range': ['203.0.113.0/24', { cidr: '203.0.113.0/24', except: [] }],
    'the range whose address has host bits': ['203.0.113.7/24', { cidr: '203.0.113.0/24', except: [] }],
    'a private range that is listed': ['10.1.0.0/16', { cidr: '10.1.0.0/16', except: [] }],
    'a whole private range': ['10.0.0.0/8', { cidr: '10.0.0.0/8', except: [] }],
    'nothing of a metadata range': ['169.254.169.254/32', undefined],
    'nothing of the loopback': ['127.0.0.0/8', undefined],
    'carrier-grade NAT without the metadata service in it': [
      '100.64.0.0/10',
      { cidr: '100.64.0.0/10', except: ['100.100.100.200/32'] },
    ],
    'an IPv6 range in its short form': ['2001:DB8:0:0:1::1/64', { cidr: '2001:db8::/64', except: [] }],
    'unique local addresses without the metadata service in them': [
      'fc00::/7',
      { cidr: 'fc00::/7', except: ['fd00:ec2::254/128'] },
    ],
    'an address with a dotted tail': ['2001:db8::1.2.3.4/128', { cidr: '2001:db8::102:304/128', except: [] }],
    'no such thing': ['hello/8', undefined],
  };
  for (const [name, [cidr, opened]] of Object.entries(table)) {
    it(`is ${name}`, () => assert.deepEqual(openRange(cidr), opened));
  }

  it('leaves everything private and forbidden closed in the range of all addresses', () => {
    const { except = [] } = openRange('0.0.0.0/0') ?? {};
    for (const closed of ['10.0.0.0/8', '169.254.0.0/16', '127.0.0.0/8', '192.168.0.0/16']) {
      assert.ok(except.includes(closed), closed);
    }
    assert.ok(except.every((range) => !range.includes(':')));
    assert.ok(openRange('::/0')?.except.includes('fe80::/10'));
  });
});
