import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NamespaceState } from '#kube/namespaced-informers.ts';
import { blockedIn } from './access.ts';

function reasonWith(secrets: NamespaceState, configMaps: NamespaceState) {
  const access = {
    secrets: { settled: async () => secrets, forbidden: () => 'no.', onAccess: () => () => undefined },
    configMaps: { settled: async () => configMaps },
  };
  return blockedIn('team', { access, homeNamespace: 'home' }).then((blocked) => blocked?.reason);
}

test('nothing is done in a namespace before its Secrets and its ConfigMaps are read', async () => {
  assert.equal(await reasonWith('synced', 'synced'), undefined);
  assert.equal(await reasonWith('waiting', 'synced'), 'Starting');
  assert.equal(await reasonWith('synced', 'waiting'), 'Starting');
  assert.equal(await reasonWith('synced', 'unfollowed'), 'Starting');
  assert.equal(await blockedIn('team', { homeNamespace: 'home' }), undefined, 'who reads all knows all');
});

test('Secrets that may not be read stop everything, ConfigMaps do not', async () => {
  assert.equal(await reasonWith('forbidden', 'waiting'), 'Forbidden');
  assert.equal(await reasonWith('synced', 'forbidden'), undefined);
});
