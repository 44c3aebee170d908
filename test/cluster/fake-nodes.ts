import type { Calls } from './commands.ts';

const annotation = 'kwok.x-k8s.io/node';

/** What a pod needs to run on a simulated node, and nowhere else. */
export const fakeNodePod = {
  nodeSelector: { type: 'kwok' },
  tolerations: [{ key: annotation, operator: 'Equal', value: 'fake', effect: 'NoSchedule' }],
};

/** Adds nodes that kwok simulates: pods on them are Ready at once and run nothing. Resolves when they are ready. */
export async function addFakeNodes(
  { kubectl }: Calls,
  count: number,
  options: { readonly pods?: number; readonly prefix?: string } = {},
): Promise<string[]> {
  const { pods = 110, prefix = 'fake' } = options;
  const names = Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
  const items = names.map((name) => fakeNode(name, pods));
  const list = { apiVersion: 'v1', kind: 'List', items };
  await kubectl(['apply', '-f', '-'], { input: JSON.stringify(list) });
  await kubectl(['wait', '--for=condition=Ready', '--timeout=120s', ...names.map((name) => `node/${name}`)]);
  return names;
}

/**
 * A node that is not ready is one whose kubelet says nothing any more: the controller-manager taints it, and its
 * pods are evicted after their toleration, which nobody carries out.
 */
export async function setFakeNodeReady({ kubectl }: Calls, name: string, ready: boolean): Promise<void> {
  // Without the annotation kwok leaves the node alone; with it, kwok makes it ready again.
  await kubectl(['annotate', '--overwrite', 'node', name, ready ? `${annotation}=fake` : `${annotation}-`]);
  const at = new Date().toISOString().replace(/\.\d+/, '');
  const condition = {
    type: 'Ready',
    status: ready ? 'True' : 'Unknown',
    reason: ready ? 'KubeletReady' : 'NodeStatusUnknown',
    message: ready ? 'simulated' : 'Kubelet stopped posting node status.',
    lastHeartbeatTime: at,
    lastTransitionTime: at,
  };
  const patch = JSON.stringify({ status: { conditions: [condition] } });
  await kubectl(['patch', 'node', name, '--subresource=status', '--type=strategic', '-p', patch]);
}

function fakeNode(name: string, pods: number) {
  const capacity = { cpu: '1000', memory: '4Ti', pods: String(pods), 'ephemeral-storage': '4Ti' };
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      annotations: { [annotation]: 'fake', 'node.alpha.kubernetes.io/ttl': '0' },
      labels: { type: 'kwok', 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux' },
    },
    spec: { taints: [{ key: annotation, value: 'fake', effect: 'NoSchedule' }] },
    status: { allocatable: capacity, capacity },
  };
}
