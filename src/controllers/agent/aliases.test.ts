import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Secret } from '#api/meta.ts';
import { type AliasSource, followAlias } from './aliases.ts';
import { deriveSecret } from './derive.ts';
import { gatherEnvironment, type References } from './gather.ts';
import { agentIndexes } from './indexes.ts';
import { makeAgent } from './testing.ts';

const source = (name: string, followsAliases: boolean, texts: Record<string, string>): AliasSource => ({
  name,
  followsAliases,
  lookup: (key) => (texts[key] === undefined ? undefined : { text: texts[key], revision: texts[key] }),
});
const broken: AliasSource = {
  name: 'broken',
  followsAliases: true,
  lookup() {
    throw new Error('it cannot be decrypted');
  },
};

test('the first source that knows a name decides, and aliases may lead into the others', () => {
  const sources = [
    source('store', true, { A: '$B', LITERAL: '$$B', OWN: 'own' }),
    source('env', false, { B: '$C', OWN: 'other' }),
  ];
  const value = (name: string) => followAlias(name, sources).value;
  assert.equal(value('OWN'), 'own');
  assert.equal(value('LITERAL'), '$B');
  // A variable of the environment is a value, whatever it looks like.
  assert.equal(value('A'), '$C');
});

test('a cycle names the whole chain, an unknown name where it was looked for', () => {
  const sources = [source('store', true, { A: '$B', B: '$C', C: '$A', D: '$NONE' })];
  assert.match(followAlias('A', sources).problem, /leads back to itself: A → B → C → A$/);
  assert.match(
    followAlias('D', sources).problem,
    /^D → NONE: there is no secret "NONE" \(looked in: store\)/,
  );
  const long = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`N${index}`, `$N${index + 1}`]));
  assert.match(followAlias('N0', [source('store', true, long)]).problem, /longer than 16 names: N0 → N1/);
});

test('a source that cannot be read is an error: nobody behind it is asked', () => {
  const found = followAlias('A', [broken, source('env', false, { A: 'older value' })]);
  assert.equal(found.value, undefined);
  assert.match(found.problem, /"A" cannot be looked up: it cannot be decrypted/);
});

test('the master key is no alias, and none leads to it', () => {
  const sources = [source('store', true, { A: '$PLOINKY_MASTER_KEY', PLOINKY_MASTER_KEY: 'x'.repeat(40) })];
  for (const name of ['A', 'PLOINKY_MASTER_KEY']) {
    const { value, problem } = followAlias(name, sources);
    assert.equal(value, undefined);
    assert.match(problem, /the workspace’s own and no agent may read it/);
  }
});

const stored: Secret = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'ploinky-secrets', namespace: 'default', uid: 'u', resourceVersion: '1' },
  data: { A: Buffer.from('$B').toString('base64') },
};
const references = (b: string): References => ({
  agent: () => undefined,
  secret: (_namespace, name) => (name === 'ploinky-secrets' ? stored : undefined),
  configMap: () => undefined,
  aliasSources: [source('store', true, { B: b, UNUSED: b })],
  masterKey: () => ({ kid: 'k', secret: Buffer.alloc(32, 7) }),
});

test('an Agent’s alias goes over the namespace’s Secret to the workspace, and its revision follows the value', () => {
  const agent = makeAgent({ env: [{ name: 'TOKEN', valueFrom: { alias: 'A' } }] });
  const found = gatherEnvironment(agent, references('one'));
  assert.deepEqual([found.values, found.missing, found.secrets], [{ TOKEN: 'one' }, [], ['TOKEN']]);
  assert.notEqual(gatherEnvironment(agent, references('two')).revision, found.revision);
  assert.deepEqual(agentIndexes.secret(agent), ['default/ploinky-secrets']);
  const missing = makeAgent({ env: [{ name: 'TOKEN', valueFrom: { alias: 'NONE' } }] });
  assert.match(
    gatherEnvironment(missing, references('one')).missing[0] ?? '',
    /^spec\.env\[0\] \(TOKEN\): there is no secret "NONE" \(looked in: Secret ploinky-secrets, store\)/,
  );
});

test('a derived secret is the agent’s own, stable over its uid, and as the contract derives it', () => {
  const derive = (name: string, metadata = {}) => {
    const env = [{ name: 'S', valueFrom: { derive: { name, bytes: 16, format: 'hex' } } }];
    return gatherEnvironment(makeAgent({ env }, metadata), references('x')).values['S'];
  };
  const one = derive('db');
  assert.match(one ?? '', /^[0-9a-f]{32}$/);
  assert.equal(derive('db', { uid: 'another' }), one);
  assert.equal(
    new Set([one, derive('other'), derive('db', { name: 'b' }), derive('db', { namespace: 'b' })]).size,
    4,
  );
  const master = { kid: 'k', secret: Buffer.alloc(32, 7) };
  const long = deriveSecret(
    master,
    { namespace: 'basic', name: 'demo' },
    { name: 'db', bytes: 32, format: 'base64url' },
  );
  // Made with Python's hmac by RFC 5869 from the infos ploinky/derived-master/v1 and ploinky/agent-secret/basic/demo/db/v1.
  assert.equal(long, 'Jv1V-PO4CgtQh57qhvdBnQOUlhSE0gYtnaxUSPBDwHA');
});
