import assert from 'node:assert/strict';
import { hkdfSync } from 'node:crypto';
import { test } from 'node:test';
import {
  createKeyRing,
  deriveAgentKey,
  deriveSubkey,
  egressToken,
  masterKeysFromSecret,
  principalOf,
} from './keys.ts';
import { demoAgent, masterKey, secretOf } from './testing.ts';

test('master keys come from the Secret, current first', () => {
  const [current, previous] = masterKeysFromSecret(
    secretOf({ current: masterKey(1).secret, previous: masterKey(2).secret }),
  );
  assert.deepEqual(current?.secret, masterKey(1).secret);
  assert.deepEqual(previous?.secret, masterKey(2).secret);
  assert.match(current?.kid ?? '', /^[0-9a-f]{8}$/);
});

const badSecrets: Record<string, Record<string, Buffer>> = {
  'no current key': {},
  'a key of 31 bytes': { current: Buffer.alloc(31, 7) },
  'an empty key': { current: Buffer.alloc(0) },
  'a key of zeros': { current: Buffer.alloc(32) },
  'a short previous key': { current: masterKey(1).secret, previous: Buffer.from('short') },
};
for (const [what, data] of Object.entries(badSecrets)) {
  test(`a Secret with ${what} is refused`, () => {
    assert.throws(() => masterKeysFromSecret(secretOf(data)), { code: 'InvalidMasterKey' });
  });
}

test('an agent key is HKDF-SHA256 of the master over namespace, name and uid', () => {
  const info = `ploinky/agent/${demoAgent.namespace}/${demoAgent.name}/${demoAgent.uid}/v1`;
  const expected = Buffer.from(hkdfSync('sha256', masterKey(1).secret, Buffer.alloc(0), info, 32));
  assert.deepEqual(deriveAgentKey(masterKey(1), demoAgent).secret, expected);
});

test('a key is derived once for a master key object, and again after thousands of others', () => {
  const master = masterKey(1);
  const first = deriveAgentKey(master, demoAgent);
  assert.equal(deriveAgentKey(master, demoAgent), first);
  assert.notEqual(deriveAgentKey(masterKey(1), demoAgent), first);
  for (let index = 0; index < 8_191; index += 1) deriveAgentKey(master, { ...demoAgent, uid: `u${index}` });
  assert.equal(deriveAgentKey(master, demoAgent), first);
  for (let index = 0; index < 8_192; index += 1) deriveAgentKey(master, { ...demoAgent, uid: `v${index}` });
  const again = deriveAgentKey(master, demoAgent);
  assert.notEqual(again, first);
  assert.deepEqual(again, first);
});

test('no two identities or purposes share a key', () => {
  const master = masterKey(1);
  const keys = [
    deriveAgentKey(master, demoAgent),
    deriveAgentKey(master, { ...demoAgent, uid: 'other' }),
    deriveAgentKey(master, { ...demoAgent, namespace: 'other' }),
    deriveAgentKey(masterKey(2), demoAgent),
    deriveSubkey(master, 'session-seal'),
    deriveSubkey(master, 'cursor-seal'),
  ].map((key) => key.secret.toString('base64url'));
  const tokens = [egressToken(master, demoAgent, 'run'), egressToken(master, demoAgent, 'install')];
  assert.equal(new Set([...keys, ...tokens]).size, keys.length + tokens.length);
});

test('a name with a slash derives nothing: it could borrow the key of another agent', () => {
  assert.throws(() => deriveAgentKey(masterKey(1), { ...demoAgent, name: 'a/b' }), {
    code: 'InvalidIdentity',
  });
  assert.throws(() => deriveAgentKey(masterKey(1), { ...demoAgent, uid: '' }), { code: 'InvalidIdentity' });
  assert.throws(() => deriveSubkey(masterKey(1), 'agent/default/demo/uid'), { code: 'InvalidIdentity' });
});

test('a principal is agent:<namespace>/<name>', () => {
  assert.equal(principalOf('default', 'demo'), 'agent:default/demo');
});

test('a key ring refuses no key, three keys, a short key and a kid twice', () => {
  const key = deriveAgentKey(masterKey(1), demoAgent);
  const other = deriveAgentKey(masterKey(2), demoAgent);
  assert.equal(createKeyRing([key, other]).find(other.kid)?.secret.length, 32);
  assert.throws(() => createKeyRing([]), { code: 'InvalidKey' });
  assert.throws(() => createKeyRing([key, other, { ...key, kid: 'third' }]), { code: 'InvalidKey' });
  assert.throws(() => createKeyRing([{ kid: 'short', secret: Buffer.alloc(31) }]), { code: 'InvalidKey' });
  assert.throws(() => createKeyRing([key, { ...other, kid: key.kid }]), { code: 'InvalidKey' });
});
