import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Workload } from '#drivers/workload.ts';
import {
  bundleVariants,
  podsOf,
  sampleAnyWorkloads,
  sampleWorkloads,
} from '#test/fixtures/kubernetes-driver/random-agents.ts';
import { brokenRules, type LooseContainer, type LoosePod } from './restricted.ts';

const good: LoosePod = {
  spec: {
    securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [
      {
        name: 'agent',
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
      },
    ],
    volumes: [{ name: 'a', emptyDir: {} }, { name: 'b', image: {} }, { name: 'c' }],
  },
};
const confined = good.spec.containers[0]?.securityContext;

const withPod = (change: object): LoosePod => ({ spec: { ...good.spec, ...change } });
const withContainer = (change: Partial<LooseContainer>): LoosePod =>
  withPod({ initContainers: [{ name: 'first', securityContext: confined, ...change }] });
const withSecurity = (change: object): LoosePod =>
  withContainer({ securityContext: { ...confined, ...change } });

const bad: Record<string, LoosePod> = {
  privileged: withSecurity({ privileged: true }),
  allowPrivilegeEscalation: withSecurity({ allowPrivilegeEscalation: undefined }),
  'unrestricted capabilities': withSecurity({ capabilities: { drop: ['ALL'], add: ['NET_ADMIN'] } }),
  procMount: withSecurity({ procMount: 'Unmasked' }),
  runAsNonRoot: withSecurity({ runAsNonRoot: false }),
  'runAsUser=0': withSecurity({ runAsUser: 0 }),
  seccompProfile: withSecurity({ seccompProfile: { type: 'Unconfined' } }),
  seLinuxOptions: withSecurity({ seLinuxOptions: { type: 'spc_t' } }),
  appArmorProfile: {
    ...good,
    metadata: { annotations: { 'container.apparmor.security.beta.kubernetes.io/agent': 'unconfined' } },
  },
  'forbidden sysctls': withPod({
    securityContext: { ...good.spec.securityContext, sysctls: [{ name: 'kernel.msgmax' }] },
  }),
  'host namespaces': withPod({ hostNetwork: true }),
  'restricted volume types': withPod({ volumes: [{ name: 'a', hostPath: { path: '/' } }] }),
  hostPort: withContainer({ ports: [{ hostPort: 80 }] }),
  hostProbes: withContainer({ livenessProbe: { httpGet: { host: '169.254.169.254' } } }),
};

describe('the check of Pod Security "restricted"', () => {
  it('finds nothing in a pod that keeps every rule', () => assert.deepEqual(brokenRules(good), []));
  for (const [name, pod] of Object.entries(bad)) {
    it(`finds a pod that breaks ${name}`, () => assert.deepEqual(brokenRules(pod), [name]));
  }
});

describe('pods of Agents', () => {
  const check = (workloads: readonly Workload[]) => {
    const pods = workloads.flatMap((workload) => podsOf(workload, bundleVariants));
    for (const pod of pods) {
      assert.deepEqual(brokenRules(pod), [], JSON.stringify(pod));
      assert.equal(pod.spec.automountServiceAccountToken, false);
      const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
      for (const { securityContext } of containers)
        assert.equal(securityContext?.readOnlyRootFilesystem, true);
      assert.ok((pod.spec.securityContext?.runAsUser ?? 0) > 0);
    }
    return pods.length;
  };

  it('keep every rule of "restricted", whatever the author writes: 10,000 random valid Agents', () => {
    // Some ask for what no pod can be, and are refused before there is one.
    const rendered = check(sampleWorkloads(10_000, 1));
    assert.ok(rendered > 10_000, `only ${rendered} pods were rendered`);
  });

  it('keep them also when fields are set that have nothing to do with pods', () => {
    const rendered = check(sampleAnyWorkloads(100, 1));
    assert.ok(rendered > 10, `only ${rendered} pods were rendered`);
  });
});
