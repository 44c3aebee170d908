import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { configMapResource, leaseResource, namespaceResource } from '#api/resources.ts';
import {
  errorFromStatus,
  isAlreadyExists,
  isConflict,
  isGone,
  isUnavailable,
  TransportError,
} from './errors.ts';
import { formatMicroTime, formatTime } from './micro-time.ts';
import { collectionPath, objectPath, withQuery } from './resource-path.ts';
import { compareVersions, newerVersion } from './resource-version.ts';

describe('resource versions', () => {
  test('are ordered as integers of any length', () => {
    const value = fc.bigInt({ min: 0n, max: 2n ** 128n });
    fc.assert(
      fc.property(value, value, (a, b) => {
        assert.equal(
          Math.sign(compareVersions(String(a), String(b)) ?? Number.NaN),
          a < b ? -1 : a > b ? 1 : 0,
        );
        assert.equal(
          newerVersion(String(a), String(b)),
          String([a, b].toSorted((x, y) => (x < y ? -1 : 1))[1]),
        );
      }),
    );
  });

  test('that are no decimal numbers are only equal or not', () => {
    assert.equal(compareVersions('x', 'x'), 0);
    for (const other of ['y', '1', '01', '-1', '', '1.5', undefined])
      assert.equal(compareVersions('x', other), undefined);
    assert.equal(compareVersions('01', '1'), undefined);
    assert.equal(newerVersion('9', 'x'), 'x');
  });
});

test('paths name group, version, namespace, object and subresource', () => {
  assert.equal(collectionPath(configMapResource), '/api/v1/configmaps');
  assert.equal(collectionPath(leaseResource, 'a'), '/apis/coordination.k8s.io/v1/namespaces/a/leases');
  assert.equal(collectionPath(namespaceResource, 'ignored'), '/api/v1/namespaces');
  assert.equal(
    objectPath(leaseResource, 'a', 'b', 'status'),
    '/apis/coordination.k8s.io/v1/namespaces/a/leases/b/status',
  );
  assert.equal(
    objectPath(configMapResource, '../x', 'a/b?c'),
    '/api/v1/namespaces/..%2Fx/configmaps/a%2Fb%3Fc',
  );
  assert.equal(withQuery('/x', { a: 1, b: '', c: undefined, d: 'e f' }), '/x?a=1&d=e+f');
});

test('times have the digits that the API asks for', () => {
  assert.equal(formatMicroTime(Date.UTC(2026, 0, 2, 3, 4, 5, 6)), '2026-01-02T03:04:05.006000Z');
  assert.equal(formatMicroTime(1.5), '1970-01-01T00:00:00.001500Z');
  assert.equal(formatTime(Date.UTC(2026, 0, 2, 3, 4, 5, 6)), '2026-01-02T03:04:05Z');
});

describe('errors of the API', () => {
  test('take reason and time to wait from Status, header or HTTP status', () => {
    const status = (fields: object) => ({ kind: 'Status', ...fields });
    assert.equal(errorFromStatus(409, status({ reason: 'AlreadyExists' })).reason, 'AlreadyExists');
    assert.equal(errorFromStatus(418, status({ reason: 'Teapot' })).reason, 'Unknown');
    assert.equal(errorFromStatus(503, '<html>').reason, 'ServiceUnavailable');
    assert.equal(errorFromStatus(500, status({ code: 410 })).status, 410);
    assert.equal(errorFromStatus(429, status({ details: { retryAfterSeconds: 3 } })).retryAfterMs, 3_000);
    assert.equal(errorFromStatus(429, undefined, '7').retryAfterMs, 7_000);
    assert.equal(errorFromStatus(429, undefined, 'Wed, 21 Oct 2026 07:28:00 GMT').retryAfterMs, undefined);
  });

  test('fall into families that exclude each other where it matters', () => {
    const exists = errorFromStatus(409, { kind: 'Status', reason: 'AlreadyExists' });
    assert.deepEqual([isConflict(exists), isAlreadyExists(exists)], [false, true]);
    assert.equal(isConflict(errorFromStatus(409, undefined)), true);
    assert.equal(isGone(errorFromStatus(400, { kind: 'Status', code: 410, reason: 'Expired' })), true);
    assert.equal(isUnavailable(errorFromStatus(429, undefined)), true);
    assert.equal(isUnavailable(errorFromStatus(422, undefined)), false);
    assert.equal(isUnavailable(new TransportError('ConnectFailed', 'x')), true);
    assert.equal(isUnavailable(new TransportError('MalformedResponse', 'x')), false);
    assert.equal(isUnavailable(new Error('x')), false);
  });
});
