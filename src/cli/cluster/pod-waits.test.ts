import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from './objects.ts';
import { lookAt, waitsOf } from './pod-waits.ts';

function podThatWaits(reason: string, message?: string): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'controller-1' },
    spec: { containers: [{ name: 'controller', image: 'registry.test/ploinky:9' }] },
    status: {
      containerStatuses: [
        { name: 'controller', state: { waiting: { reason, ...(message !== undefined && { message }) } } },
      ],
    },
  };
}

test('an image that cannot be pulled is named with the reason, once for equal pods', () => {
  const pod = podThatWaits('ImagePullBackOff');
  assert.deepEqual(waitsOf([pod, pod]), [
    'container controller cannot get its image registry.test/ploinky:9 (ImagePullBackOff)',
  ]);
});

test('what passes by itself is not told; other reasons in the words of the cluster', () => {
  assert.deepEqual(waitsOf([podThatWaits('ContainerCreating')]), []);
  assert.deepEqual(waitsOf([podThatWaits('CreateContainerConfigError', 'secret "x" not found')]), [
    'container controller: CreateContainerConfigError: secret "x" not found',
  ]);
});

test('the way to look further names a pod where there is one', () => {
  assert.equal(lookAt([podThatWaits('x')], 'home'), 'kubectl -n home describe pod controller-1');
  assert.equal(lookAt([], 'home'), 'kubectl -n home get deployments,pods,events');
});
