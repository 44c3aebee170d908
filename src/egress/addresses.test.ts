import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { listsPrivateRange } from './addresses.ts';

describe('listsPrivateRange', () => {
  it('accepts a range inside a private one', () => {
    assert.equal(listsPrivateRange({ cidr: '10.1.0.0/16' }, '10.1.2.3'), true);
    assert.equal(listsPrivateRange({ cidr: '10.0.0.0/8' }, '10.1.2.3'), true);
    assert.equal(listsPrivateRange({ cidr: 'fd00::/8' }, 'fd00::1'), true);
  });
  it('does not take a range that merely covers a private one as listing it', () => {
    assert.equal(listsPrivateRange({ cidr: '0.0.0.0/0' }, '10.1.2.3'), false);
    assert.equal(listsPrivateRange({ cidr: '8.0.0.0/5' }, '10.1.2.3'), false);
    assert.equal(listsPrivateRange({ cidr: '::/0' }, 'fd00::1'), false);
  });
  it('does not reach outside the range, or by a host rule', () => {
    assert.equal(listsPrivateRange({ cidr: '10.1.0.0/16' }, '10.2.0.1'), false);
    assert.equal(listsPrivateRange({ host: '10.1.2.3' }, '10.1.2.3'), false);
  });
});
