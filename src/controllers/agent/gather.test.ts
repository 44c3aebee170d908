import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Agent } from '#api/agent.ts';
import type { ConfigMap, Secret } from '#api/meta.ts';
import { gatherDependencies, gatherEnvironment, type References } from './gather.ts';
import { agentIndexes } from './indexes.ts';
import { makeAgent } from './testing.ts';

const secret: Secret = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'keys', namespace: 'default', resourceVersion: '3' },
  data: { api: Buffer.from('sk-1').toString('base64') },
};
const settings: ConfigMap = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'settings', namespace: 'default', resourceVersion: '4' },
  data: { mode: 'fast' },
};

function referencesTo(agents: readonly Agent[] = [], secretNow: Secret = secret): References {
  return {
    agent: (_namespace, name) => agents.find((agent) => agent.metadata.name === name),
    secret: (_namespace, name) => (name === 'keys' ? secretNow : undefined),
    configMap: (_namespace, name) => (name === 'settings' ? settings : undefined),
  };
}

const fromSecret = (name: string, key: string, optional?: boolean) => ({
  name: 'KEY',
  valueFrom: { secretKeyRef: { name, key, ...(optional === undefined ? {} : { optional }) } },
});

test('values come from the spec, from Secrets and from ConfigMaps', () => {
  const env = [
    { name: 'PLAIN', value: 'x' },
    fromSecret('keys', 'api'),
    { name: 'MODE', valueFrom: { configMapKeyRef: { name: 'settings', key: 'mode' } } },
  ];
  const found = gatherEnvironment(makeAgent({ env }), referencesTo());
  assert.deepEqual(found.values, { PLAIN: 'x', KEY: 'sk-1', MODE: 'fast' });
  assert.deepEqual(found.missing, []);
});

test('an absent Secret and an absent key are two different sentences, both with the field', () => {
  const absent = gatherEnvironment(makeAgent({ env: [fromSecret('nope', 'api')] }), referencesTo());
  assert.deepEqual(absent.missing, ['spec.env[0] (KEY): Secret "nope" does not exist.']);
  const keyless = gatherEnvironment(makeAgent({ env: [fromSecret('keys', 'nope')] }), referencesTo());
  assert.deepEqual(keyless.missing, ['spec.env[0] (KEY): Secret "keys" has no key "nope".']);
});

test('an optional reference may lead nowhere', () => {
  const found = gatherEnvironment(makeAgent({ env: [fromSecret('nope', 'api', true)] }), referencesTo());
  assert.deepEqual([found.values, found.missing], [{}, []]);
});

test('the revision follows the value, not the Secret’s other keys, and does not hold it', () => {
  const agent = makeAgent({ env: [fromSecret('keys', 'api')] });
  const revision = (data: Record<string, string>, resourceVersion: string) => {
    const metadata = { ...secret.metadata, uid: 'u-1', resourceVersion };
    return gatherEnvironment(agent, referencesTo([], { ...secret, metadata, data })).revision;
  };
  const api = secret.data?.['api'] ?? '';
  const before = revision({ api }, '3');
  assert.equal(revision({ api, other: 'eA==' }, '4'), before);
  assert.notEqual(revision({ api: 'eA==' }, '5'), before);
  assert.doesNotMatch(before, /sk-1/);
});

test('a dependency that only has to exist is not waited for', () => {
  const agent = makeAgent({ dependsOn: [{ name: 'other', wait: 'None' }] });
  assert.deepEqual(gatherDependencies(agent, referencesTo()).waiting, []);
});

test('a cycle over two others is found and shown from the Agent on', () => {
  const chain = (name: string, next: string) => makeAgent({ dependsOn: [{ name: next }] }, { name });
  const a = chain('a', 'b');
  const found = gatherDependencies(a, referencesTo([a, chain('b', 'c'), chain('c', 'a')]));
  assert.deepEqual(found.cycle, ['a', 'b', 'c', 'a']);
});

test('an Agent that only leads into a cycle is not on it', () => {
  const chain = (name: string, next: string) => makeAgent({ dependsOn: [{ name: next }] }, { name });
  const x = chain('x', 'b');
  assert.deepEqual(gatherDependencies(x, referencesTo([chain('b', 'c'), chain('c', 'b')])).cycle, []);
});

test('the master key and other agents’ keys are read by no agent, optional or not', () => {
  const master = { ...secret, metadata: { ...secret.metadata, name: 'ploinky-master' } };
  const others = {
    ...secret,
    metadata: { ...secret.metadata, labels: { 'app.kubernetes.io/managed-by': 'ploinky' } },
  };
  for (const [name, found] of [
    ['ploinky-master', master],
    ['keys', others],
  ] as const) {
    const env = [fromSecret(name, 'api', true)];
    const references = { ...referencesTo(), secret: () => found };
    const { values, missing } = gatherEnvironment(makeAgent({ env }), references);
    assert.deepEqual(values, {});
    assert.match(missing[0] ?? '', /^spec\.env\[0\] \(KEY\): Secret ".*" is Ploinky's own/);
  }
});

test('what the fetch of a git source needs is missed like any other reference, and is no part of the spec hash', () => {
  const git = (more: object) => makeAgent({ code: { git: { url: 'https://git.test/a', ...more } } });
  const missing = (more: object) => gatherEnvironment(git(more), referencesTo()).missing;
  const credentials = { name: 'nope', key: 'token' };
  assert.deepEqual(missing({ credentials }), ['spec.code.git.credentials: Secret "nope" does not exist.']);
  const map = (key: string, optional?: boolean) => ({
    ca: { configMapKeyRef: { name: 'settings', key, ...(optional === undefined ? {} : { optional }) } },
  });
  assert.deepEqual(missing(map('ca.crt')), ['spec.code.git.ca: ConfigMap "settings" has no key "ca.crt".']);
  assert.deepEqual(missing(map('ca.crt', true)), []);
  assert.deepEqual(missing({ ca: { secretKeyRef: { name: 'keys', key: 'x' } } }), [
    'spec.code.git.ca: Secret "keys" has no key "x".',
  ]);
  const revision = (agent: Agent) => gatherEnvironment(agent, referencesTo()).revision;
  assert.equal(revision(git(map('mode'))), revision(git({})));
});

test('an Agent is filed under what its code refers to', () => {
  const git = {
    url: 'https://git.test/a',
    credentials: { name: 'keys', key: 'api' },
    ca: { configMapKeyRef: { name: 'settings', key: 'mode' } },
  };
  const agent = makeAgent({ code: { git } });
  assert.deepEqual(agentIndexes.secret(agent), ['default/keys']);
  assert.deepEqual(agentIndexes.configMap(agent), ['default/settings']);
});

test('a ConfigMap that is to be the code is missed like any other reference, and wakes its Agents', () => {
  const from = (name: string) => makeAgent({ code: { configMap: { name } } });
  assert.deepEqual(gatherEnvironment(from('nope'), referencesTo()).missing, [
    'spec.code.configMap.name: ConfigMap "nope" does not exist.',
  ]);
  assert.deepEqual(gatherEnvironment(from('settings'), referencesTo()).missing, []);
  assert.deepEqual(agentIndexes.configMap(from('nope')), ['default/nope']);
  const revision = (agent: Agent) => gatherEnvironment(agent, referencesTo()).revision;
  assert.equal(revision(from('settings')), revision(makeAgent()));
});
