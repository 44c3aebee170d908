import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { NetworkPolicy } from '#api/cluster-kinds.ts';
import type { KubeObject } from '#api/meta.ts';
import { childLabels } from '#drivers/kubernetes/names.ts';
import { networkPolicySpec } from '#drivers/kubernetes/render/network-policy.ts';
import type { PodSettings } from '#drivers/kubernetes/settings.ts';
import type { Workload } from '#drivers/workload.ts';
import { findHelm, homeNamespace, render } from '../../scripts/chart/helm.ts';
import { connects, type End } from '../contract/driver/network-evaluator.ts';
import { type Deployment, isDeployment, valueSets } from './objects.ts';

const helm = await findHelm((line) => process.stderr.write(`${line}\n`));
const options = typeof helm === 'string' ? {} : { skip: `no Helm: ${helm.missing}` };

const apiServer: End = { address: '10.96.0.1' };
const outside: End = { address: '93.184.216.34' };
const stranger: End = { address: '10.244.0.9', pod: { namespace: 'other', labels: { app: 'x' } } };
const impostor: End = {
  address: '10.244.0.10',
  pod: {
    namespace: 'other',
    labels: { 'app.kubernetes.io/name': 'ploinky', 'app.kubernetes.io/component': 'router' },
  },
};
const ingressController: End = { address: '10.244.0.11', pod: { namespace: 'ingress', labels: {} } };
const prometheus: End = { address: '10.244.0.12', pod: { namespace: 'monitoring', labels: {} } };

/** Who may connect where: from, to, port, allowed. An agent is of the namespace team-a. */
type Row = readonly [from: string, to: string, port: number, allowed: boolean];

const always: readonly Row[] = [
  ['agent', 'router', 8081, true],
  ['agent', 'egress', 3128, true],
  ['agent', 'router', 8080, false],
  ['agent', 'egress', 9090, false],
  ['agent', 'controller', 9090, false],
  ['agent', 'other agent', 7000, false],
  ['agent', 'outside', 443, false],
  ['agent', 'api server', 443, false],
  ['router', 'agent', 7000, true],
  ['controller', 'agent', 7000, true],
  ['router', 'agent', 22, false],
  ['egress', 'agent', 7000, false],
  ['stranger', 'agent', 7000, false],
  ['impostor', 'agent', 7000, false],
  ['stranger', 'router', 8081, false],
  ['stranger', 'egress', 3128, false],
  ['impostor', 'router', 8081, false],
  ['router', 'other router', 8082, true],
  ['router', 'other router', 8080, false],
  ['router', 'stranger', 8082, false],
  ['agent', 'router', 8082, false],
  ['controller', 'router', 8082, false],
  ['stranger', 'router', 8082, false],
  ['impostor', 'router', 8082, false],
  ['router', 'api server', 443, true],
  ['controller', 'api server', 443, true],
  ['egress', 'api server', 443, true],
  ['egress', 'outside', 443, true],
  ['egress', 'outside', 8443, true],
  ['router', 'outside', 80, false],
  ['controller', 'outside', 80, false],
  ['controller', 'router', 8080, false],
];

const rows: Readonly<Record<string, readonly Row[]>> = {
  'the defaults': [
    ...always,
    ['stranger', 'router', 8080, true],
    ['outside', 'router', 8080, true],
    ['prometheus', 'controller', 9090, true],
  ],
  'everything.yaml': [
    ...always,
    ['ingress controller', 'router', 8080, true],
    ['helm test', 'router', 8080, true],
    ['prometheus', 'router', 8080, true],
    ['prometheus', 'controller', 9090, true],
    ['prometheus', 'egress', 9090, true],
    ['stranger', 'router', 8080, false],
    ['stranger', 'controller', 9090, false],
  ],
};

describe('network policies of the chart and of an agent, together', options, () => {
  for (const [name, expected] of Object.entries(rows)) {
    describe(`with ${name}`, () => {
      let policies: readonly NetworkPolicy[];
      let ends: Readonly<Record<string, End>>;
      before(async () => {
        const values = valueSets().find((set) => set.name === name)?.values ?? '';
        const objects = await render(String(helm), { values });
        policies = [...objects.filter(isPolicy), agentPolicy('agent'), agentPolicy('other agent')];
        ends = endsOf(objects.filter(isDeployment));
      });
      for (const [from, to, port, allowed] of expected) {
        it(`${from} → ${to}:${port} ${allowed ? 'passes' : 'does not pass'}`, () => {
          const [source, target] = [ends[from], ends[to]];
          assert.ok(source && target);
          assert.equal(connects(policies, source, target, port), allowed);
        });
      }
    });
  }

  it('in scope Namespaced the programs know agents of their own namespace alone', async () => {
    const values = valueSets().find((set) => set.name === 'namespaced.yaml')?.values ?? '';
    const objects = await render(String(helm), { values });
    const policies = objects.filter(isPolicy);
    const { router, egress, controller, agent } = endsOf(objects.filter(isDeployment));
    assert.ok(router && egress && controller && agent?.pod);
    const own: End = { ...agent, pod: { ...agent.pod, namespace: homeNamespace } };
    for (const [one, expected] of [
      [own, true],
      [agent, false],
    ] as const) {
      assert.equal(connects(policies, one, router, 8081), expected);
      assert.equal(connects(policies, one, egress, 3128), expected);
      assert.equal(connects(policies, router, one, 7000), expected);
      assert.equal(connects(policies, controller, one, 7000), expected);
    }
    assert.ok(connects(policies, router, apiServer, 443));
    assert.ok(!connects(policies, router, outside, 443));
  });
});

function isPolicy(object: KubeObject): object is NetworkPolicy {
  return object.kind === 'NetworkPolicy';
}

const identity = (name: string) => ({
  id: { namespace: 'team-a', name: name.replace(' ', '-'), uid: `uid of ${name}` },
  role: 'r',
});

function agentPolicy(name: string): NetworkPolicy {
  const workload = { ...identity(name), egress: [] } as unknown as Workload;
  const spec = networkPolicySpec(workload, { homeNamespace } as PodSettings);
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name, namespace: 'team-a' },
    spec,
  };
}

function endsOf(deployments: readonly Deployment[]): Record<string, End> {
  const programs = deployments.map((deployment, index): [string, End] => {
    const { metadata, spec } = deployment.spec.template;
    const ports = spec.containers.flatMap((container) => container.ports ?? []);
    const named = Object.fromEntries(ports.map(({ name = '', containerPort = 0 }) => [name, containerPort]));
    const pod = { namespace: homeNamespace, labels: metadata.labels, ports: named };
    return [deployment.metadata.name.replace('ploinky-', ''), { address: `10.244.1.${index}`, pod }];
  });
  const agent = (name: string, address: string): End => ({
    address,
    pod: { namespace: 'team-a', labels: childLabels(identity(name)) },
  });
  const test = {
    'app.kubernetes.io/name': 'ploinky',
    'app.kubernetes.io/instance': 'ploinky',
    'app.kubernetes.io/component': 'test',
  };
  const router = programs.find(([name]) => name === 'router')?.[1];
  assert.ok(router);
  return {
    ...Object.fromEntries(programs),
    'other router': { ...router, address: '10.244.2.1' },
    agent: agent('agent', '10.244.0.7'),
    'other agent': agent('other agent', '10.244.0.8'),
    'helm test': { address: '10.244.0.13', pod: { namespace: homeNamespace, labels: test } },
    stranger,
    impostor,
    prometheus,
    outside,
    'ingress controller': ingressController,
    'api server': apiServer,
  };
}
