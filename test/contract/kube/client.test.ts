import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { KubeObject, Resource } from '#api/meta.ts';
import { systemClock } from '#kit/clock.ts';
import { type Client, createClient } from '#kube/client.ts';
import { endpointFromAddress } from '#kube/endpoint.ts';
import { ApiError, isAlreadyExists, isConflict, isNotFound, TransportError } from '#kube/errors.ts';
import { FakeApi } from './fake-api.ts';

interface Thing extends KubeObject {
  spec?: { size?: number; replicas?: number };
  status?: { phase?: string; conditions?: { type: string; status: string }[] };
}

const things: Resource = {
  group: 'test.dev',
  version: 'v1',
  kind: 'Thing',
  plural: 'things',
  namespaced: true,
};

function thing(name: string, spec: NonNullable<Thing['spec']> = {}): Thing {
  return { apiVersion: 'test.dev/v1', kind: 'Thing', metadata: { namespace: 'default', name }, spec };
}

for (const kind of ['a Unix socket', 'loopback TCP'] as const) {
  describe(`the client over ${kind}`, { timeout: 20_000 }, () => {
    const folder = mkdtempSync(join(tmpdir(), 'kube-'));
    const api = new FakeApi(kind === 'a Unix socket' ? { socketPath: join(folder, 'api.sock') } : {});
    let client: Client;
    before(async () => {
      await api.listen();
      client = createClient({
        endpoint: endpointFromAddress(api.address),
        clock: systemClock,
        timeoutMs: 5_000,
      });
    });
    after(async () => {
      await client.close();
      await api.stop();
      rmSync(folder, { recursive: true });
    });

    test('creates, reads, updates and deletes an object', async () => {
      const created = await client.create(things, thing('one', { size: 1 }));
      assert.equal(created.metadata.generation, 1);
      const key = { namespace: 'default', name: 'one' };
      const read = await client.get<Thing>(things, key);
      assert.deepEqual(read, created);
      const updated = await client.update(things, { ...read, spec: { size: 2 } });
      assert.equal(updated.spec?.size, 2);
      await assert.rejects(client.update(things, { ...read, spec: { size: 3 } }), isConflict);
      await assert.rejects(client.create(things, thing('one')), isAlreadyExists);
      await assert.rejects(
        client.delete(things, key, {
          preconditions: { resourceVersion: created.metadata.resourceVersion ?? '' },
        }),
        isConflict,
      );
      await client.delete(things, key);
      assert.equal(await client.find(things, key), undefined);
      await assert.rejects(client.get(things, key), isNotFound);
    });

    test('lists in pages that carry apiVersion and kind', async () => {
      for (const name of ['a', 'b', 'c']) await client.create(things, thing(name));
      const first = await client.list<Thing>(things, { namespace: 'default', limit: 2 });
      assert.deepEqual(
        first.items.map((item) => [item.kind, item.metadata.name]),
        [
          ['Thing', 'a'],
          ['Thing', 'b'],
        ],
      );
      const rest = await client.list<Thing>(things, {
        namespace: 'default',
        limit: 2,
        continue: first.metadata.continue ?? '',
      });
      assert.deepEqual(
        rest.items.map((item) => item.metadata.name),
        ['c'],
      );
      assert.equal(rest.metadata.continue, undefined);
    });

    test('writes a status once, skips an equal one and gets 409 for a stale one', async () => {
      const created = await client.create(things, thing('status'));
      const options = { fieldManager: 'test' };
      const written = await client.applyStatus<Thing>(things, created, { phase: 'Ready' }, options);
      assert.equal(written.status?.phase, 'Ready');
      const writes = api.count('patch');
      assert.equal(await client.applyStatus<Thing>(things, written, { phase: 'Ready' }, options), written);
      assert.equal(api.count('patch'), writes);
      await assert.rejects(
        client.applyStatus<Thing>(things, created, { phase: 'Late' }, options),
        isConflict,
      );
      const sent = api.requests.findLast((request) => request.verb === 'patch');
      assert.equal(sent?.query.get('force'), 'true');
      assert.equal(sent?.query.get('fieldManager'), 'test');
      assert.equal(sent?.headers['content-type'], 'application/apply-patch+yaml');
    });

    test('patches, applies and scales', async () => {
      await client.apply<Thing>(things, { ...thing('patched'), spec: { size: 1 } }, { fieldManager: 'test' });
      const key = { namespace: 'default', name: 'patched' };
      const patched = await client.patch<Thing>(things, key, {
        type: 'merge',
        body: { spec: { size: null, replicas: 1 } },
      });
      assert.deepEqual(patched.spec, { replicas: 1 });
      await client.scale(things, key, 3);
      assert.equal(api.requests.at(-1)?.path.endsWith('/things/patched/scale'), true);
    });

    test('turns a Status into an ApiError with its reason, details and Retry-After', async () => {
      const body = {
        kind: 'Status',
        code: 422,
        reason: 'Invalid',
        message: 'spec.size: too big',
        details: { causes: [{ field: 'spec.size' }] },
      };
      api.fail('list', { kind: 'status', status: 422, body });
      api.fail('list', { kind: 'status', status: 429, retryAfter: 7 });
      api.fail('list', { kind: 'status', status: 502, body: '<html>' });
      await assert.rejects(client.list(things), (error) => {
        assert(error instanceof ApiError);
        assert.deepEqual([error.status, error.reason, error.message], [422, 'Invalid', 'spec.size: too big']);
        assert.equal(error.details?.causes?.[0]?.field, 'spec.size');
        return true;
      });
      await assert.rejects(client.list(things), {
        status: 429,
        reason: 'TooManyRequests',
        retryAfterMs: 7_000,
      });
      await assert.rejects(client.list(things), { status: 502, reason: 'Unknown' });
    });

    test('tells a cut connection from a silent one and from a caller that gave up', async () => {
      api.fail('list', { kind: 'cut' });
      api.fail('list', { kind: 'silence' }, 2);
      await assert.rejects(client.list(things), { name: 'TransportError', code: 'ConnectionLost' });
      await assert.rejects(client.list(things, { timeoutMs: 50 }), {
        name: 'TransportError',
        code: 'DeadlineExceeded',
      });
      const reason = new Error('no longer interested');
      const caller = new AbortController();
      const waiting = client.list(things, { signal: caller.signal });
      setImmediate(() => caller.abort(reason));
      await assert.rejects(waiting, reason);
    });

    test('refuses an answer over its limit', async () => {
      api.clearFaults();
      const endpoint = endpointFromAddress(api.address);
      const small = createClient({ endpoint, clock: systemClock, maxResponseBytes: 10 });
      await assert.rejects(small.list(things), { code: 'ResponseTooLarge' });
      await small.close();
    });
  });
}

test('the client says when nothing listens', async () => {
  const client = createClient({
    endpoint: endpointFromAddress('unix:/nonexistent/api.sock'),
    clock: systemClock,
  });
  await assert.rejects(
    client.list(things),
    (error) => error instanceof TransportError && error.code === 'ConnectFailed',
  );
  await client.close();
});
