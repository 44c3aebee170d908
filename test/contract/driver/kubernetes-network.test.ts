import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NetworkPolicy } from '#api/cluster-kinds.ts';
import { podLabels } from '#drivers/kubernetes/names.ts';
import { renderChildren } from '#drivers/kubernetes/render/children.ts';
import type { Workload } from '#drivers/workload.ts';
import { workloadOf } from '#test/fixtures/driver-host.ts';
import { testSettings } from '#test/fixtures/kubernetes-driver/settings.ts';
import { connects, type End } from './network-evaluator.ts';

const home = 'ploinky-system';
const ours = (component: string) => ({
  'app.kubernetes.io/name': 'ploinky',
  'app.kubernetes.io/component': component,
});
const inHome = (component: string): End => ({
  address: '10.1.0.1',
  pod: { namespace: home, labels: ours(component) },
});
const outside = (address: string): End => ({ address });

function agentOf(workload: Workload): End {
  return { address: '10.1.9.9', pod: { namespace: workload.id.namespace, labels: podLabels(workload, 0) } };
}

const workload = workloadOf({
  egress: [
    { host: 'api.example.com' },
    { cidr: '203.0.113.0/24', ports: [8443] },
    { cidr: '0.0.0.0/0', ports: [443] },
    { cidr: '169.254.169.254/32' },
  ],
});
const { networkPolicy } = renderChildren(workload, testSettings);
const agent = agentOf(workload);
const other = workloadOf();
const policies = [networkPolicy, renderChildren(other, testSettings).networkPolicy];

const table: Record<string, [from: End, to: End, port: number, open: boolean]> = {
  'the router calls it': [inHome('router'), agent, 7000, true],
  'the controller calls it': [inHome('controller'), agent, 7000, true],
  'the router reaches no other port of it': [inHome('router'), agent, 7001, false],
  'the egress proxy does not call it': [inHome('egress'), agent, 7000, false],
  'another agent does not reach it': [agentOf(other), agent, 7000, false],
  'a pod that calls itself router in its own namespace does not': [
    { address: '10.1.0.2', pod: { namespace: 'evil', labels: ours('router') } },
    agent,
    7000,
    false,
  ],
  'a pod that calls itself router beside it does not': [
    { address: '10.1.0.3', pod: { namespace: workload.id.namespace, labels: ours('router') } },
    agent,
    7000,
    false,
  ],
  'any other pod of the home namespace does not': [
    { address: '10.1.0.4', pod: { namespace: home, labels: {} } },
    agent,
    7000,
    false,
  ],
  'nobody from outside does': [outside('198.51.100.1'), agent, 7000, false],
  'it reaches the router’s port for agents': [agent, inHome('router'), 8081, true],
  'it does not reach the router’s public port': [agent, inHome('router'), 8080, false],
  'it reaches the egress proxy': [agent, inHome('egress'), 3128, true],
  'it does not reach the controller': [agent, inHome('controller'), 9090, false],
  'it reaches a listed range at its port': [agent, outside('203.0.113.5'), 8443, true],
  'it reaches no other port there': [agent, outside('203.0.113.5'), 22, false],
  'a range of everything opens public addresses': [agent, outside('198.51.100.1'), 443, true],
  'but no private ones': [agent, outside('10.1.2.3'), 443, false],
  'nor the metadata service, though it is listed': [agent, outside('169.254.169.254'), 443, false],
  'it asks no name server': [
    agent,
    { address: '10.1.0.5', pod: { namespace: 'kube-system', labels: { 'k8s-app': 'kube-dns' } } },
    53,
    false,
  ],
};

describe('the NetworkPolicy of an Agent', () => {
  for (const [name, [from, to, port, open]] of Object.entries(table)) {
    it(name, () => assert.equal(connects(policies, from, to, port), open));
  }

  it('would let impostors in if namespace and pod were two entries', () => {
    const split: NetworkPolicy = structuredClone(networkPolicy);
    for (const rule of split.spec.ingress ?? []) {
      rule.from = (rule.from ?? []).flatMap(({ namespaceSelector, podSelector }) => [
        { ...(namespaceSelector && { namespaceSelector }) },
        { ...(podSelector && { podSelector }) },
      ]);
    }
    const beside: End = {
      address: '10.1.0.3',
      pod: { namespace: workload.id.namespace, labels: ours('router') },
    };
    assert.equal(connects([split], beside, agent, 7000), true);
    assert.equal(connects([networkPolicy], beside, agent, 7000), false);
  });
});
