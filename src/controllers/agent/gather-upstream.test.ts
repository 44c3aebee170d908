import assert from 'node:assert/strict';
import { test } from 'node:test';
import { knownSecrets } from '#api/known-secrets.ts';
import type { Secret } from '#api/meta.ts';
import { desired } from './desired.ts';
import type { References } from './gather.ts';
import { gatherUpstream } from './gather-upstream.ts';
import { agentIndexes } from './indexes.ts';
import { makeAgent, makeFacts } from './testing.ts';

const secret = (resourceVersion: string, data: Record<string, string>): Secret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'remote', namespace: 'default', resourceVersion },
  data: Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
  ),
});

const referencesTo = (held: Secret | undefined): References => ({
  agent: () => undefined,
  secret: (_namespace, name) => (name === 'remote' ? held : undefined),
  configMap: () => undefined,
});

const agent = makeAgent({
  mcp: {
    upstream: {
      url: 'https://mcp.example/mcp',
      headersFrom: [
        { name: 'X-Plain', value: 'a' },
        { name: 'X-Key', secretKeyRef: { name: 'remote', key: 'key' } },
        { name: 'X-Perhaps', secretKeyRef: { name: 'remote', key: 'perhaps', optional: true } },
      ],
      oauth: {
        mode: 'clientCredentials',
        clientId: 'c',
        clientSecretRef: { name: 'remote', key: 'secret' },
      },
    },
  },
});

test('headers and the client secret come from Secrets, without the line end of an editor', () => {
  const held = secret('1', { key: 'k1\n', secret: 's1\r\n' });
  assert.deepEqual(gatherUpstream(agent, referencesTo(held)), {
    values: {
      headers: { 'X-Plain': 'a', 'X-Key': 'k1' },
      secretHeaders: ['X-Key', 'X-Perhaps'],
      clientSecret: 's1',
    },
    missing: [],
  });
});

test('what comes from a Secret is shown nowhere, whatever its header is called', () => {
  const named = makeAgent({
    mcp: {
      upstream: {
        url: 'https://mcp.example/mcp',
        headersFrom: [
          { name: 'X-Tenant-Id', secretKeyRef: { name: 'remote', key: 'key' } },
          { name: 'X-Plain', value: 'written-down' },
        ],
      },
    },
  });
  const upstream = gatherUpstream(named, referencesTo(secret('1', { key: 'tenant-value' }))).values;
  assert.deepEqual(knownSecrets({ env: {}, keys: [], forwards: [], upstream }), ['tenant-value']);
});

test('what leads nowhere is told with its field', () => {
  assert.deepEqual(gatherUpstream(agent, referencesTo(secret('1', { key: 'k' }))).missing, [
    'spec.mcp.upstream.oauth.clientSecretRef: Secret "remote" has no key "secret".',
  ]);
  assert.deepEqual(gatherUpstream(agent, referencesTo(undefined)).missing, [
    'spec.mcp.upstream.headersFrom (X-Key): Secret "remote" does not exist.',
    'spec.mcp.upstream.oauth.clientSecretRef: Secret "remote" does not exist.',
  ]);
});

test('new values reach the agent-server and need no new sandbox or pod', () => {
  const workload = (version: string) => {
    const held = secret(version, { key: `key-${version}`, secret: 's' });
    const upstream = gatherUpstream(agent, referencesTo(held)).values;
    return desired(makeFacts({ agent, upstream }), { codeRoot: '/work' });
  };
  const [before, after] = [workload('1'), workload('2')];
  assert.equal(before.agentServer.upstream?.headers['X-Key'], 'key-1');
  assert.equal(after.agentServer.upstream?.headers['X-Key'], 'key-2');
  assert.equal(before.specHash, after.specHash);
  assert.deepEqual(before.egress, [{ host: 'mcp.example', ports: [443] }]);
});

test('an Agent is found by the Secrets of its upstream', () => {
  assert.ok(agentIndexes.secret(agent).includes('default/remote'));
});

const stored = makeAgent({
  storage: {
    blobs: {
      s3: { endpoint: 'https://s3.example', bucket: 'files', credentialsSecretRef: { name: 'remote' } },
    },
  },
});

test('credentials of a store of blobs come from its Secret, and new ones need no new sandbox or pod', () => {
  const workload = (data: Record<string, string>) => {
    const { values: upstream, missing } = gatherUpstream(stored, referencesTo(secret('1', data)));
    assert.deepEqual(missing, []);
    return desired(makeFacts({ agent: stored, upstream }), { codeRoot: '/work' });
  };
  const before = workload({ accessKeyId: 'a', secretAccessKey: 'canary-1\n' });
  const after = workload({
    accessKeyId: 'a',
    secretAccessKey: 'canary-2',
    sessionToken: 't',
    'ca.crt': 'pem',
  });
  assert.deepEqual(before.agentServer.upstream, {
    headers: {},
    blobs: { accessKeyId: 'a', secretAccessKey: 'canary-1' },
  });
  assert.deepEqual(after.agentServer.upstream?.blobs, {
    ...{ accessKeyId: 'a', secretAccessKey: 'canary-2', sessionToken: 't', ca: 'pem' },
  });
  assert.equal(before.specHash, after.specHash);
  assert.deepEqual(before.egress, [{ host: 's3.example', ports: [443] }]);
  assert.deepEqual(before.agentServer.blobs?.s3, {
    ...{ endpoint: 'https://s3.example', bucket: 'files', region: 'us-east-1', prefix: '', pathStyle: true },
  });
  assert.ok(knownSecrets({ secretEnv: [], ...after.agentServer, forwards: [] }).includes('canary-2'));
  assert.ok(agentIndexes.secret(stored).includes('default/remote'));
});

test('a Secret of a store that lacks a key is told with it', () => {
  assert.deepEqual(gatherUpstream(stored, referencesTo(secret('1', { accessKeyId: 'a' }))), {
    values: { headers: {} },
    missing: ['spec.storage.blobs.s3.credentialsSecretRef: Secret "remote" has no key "secretAccessKey".'],
  });
});
