import type {
  LabelSelector,
  NetworkPolicy,
  NetworkPolicyPeer,
  NetworkPolicyPort,
} from '#api/cluster-kinds.ts';

/** One end of a connection. `address` alone: something outside the cluster. */
export interface End {
  readonly address: string;
  readonly pod?: {
    readonly namespace: string;
    readonly labels: Readonly<Record<string, string>>;
    /** Container ports by name. */
    readonly ports?: Readonly<Record<string, number>>;
  };
}

/**
 * Whether a TCP connection passes `policies` as networking.k8s.io/v1 defines them: a pod that no policy selects in a
 * direction is open in it; else one rule of one policy must allow. A namespace's only label is its name. Cidrs: IPv4.
 */
export function allows(policies: readonly NetworkPolicy[], from: End, to: End, port: number): boolean {
  return passes(policies, 'Egress', from, to, port, to) && passes(policies, 'Ingress', to, from, port, to);
}

function passes(
  policies: readonly NetworkPolicy[],
  direction: 'Ingress' | 'Egress',
  subject: End,
  peer: End,
  port: number,
  target: End,
): boolean {
  const selecting = policies.filter(
    ({ metadata, spec }) =>
      subject.pod !== undefined &&
      metadata.namespace === subject.pod.namespace &&
      (spec.policyTypes ?? ['Ingress']).includes(direction) &&
      selects(spec.podSelector, subject.pod.labels),
  );
  if (selecting.length === 0) return true;
  return selecting.some(({ metadata, spec }) => {
    const rules =
      direction === 'Ingress'
        ? (spec.ingress ?? []).map(({ from, ports }) => ({ peers: from, ports }))
        : (spec.egress ?? []).map(({ to, ports }) => ({ peers: to, ports }));
    return rules.some(
      ({ peers, ports }) =>
        (ports === undefined || ports.some((one) => isPort(one, port, target))) &&
        (peers === undefined || peers.some((one) => isPeer(one, peer, metadata.namespace ?? ''))),
    );
  });
}

function isPort({ port: wanted, protocol = 'TCP' }: NetworkPolicyPort, port: number, { pod }: End): boolean {
  if (protocol !== 'TCP') return false;
  if (typeof wanted === 'string') return pod?.ports?.[wanted] === port;
  return wanted === undefined || wanted === port;
}

/** Everything that one peer names must hold; without a namespaceSelector it means the policy's own namespace. */
function isPeer(peer: NetworkPolicyPeer, { address, pod }: End, own: string): boolean {
  const { ipBlock, namespaceSelector, podSelector } = peer;
  if (ipBlock !== undefined) {
    return inRange(address, ipBlock.cidr) && !ipBlock.except?.some((range) => inRange(address, range));
  }
  if (pod === undefined) return false;
  const inNamespace =
    namespaceSelector === undefined
      ? pod.namespace === own
      : selects(namespaceSelector, { 'kubernetes.io/metadata.name': pod.namespace });
  return inNamespace && (podSelector === undefined || selects(podSelector, pod.labels));
}

function selects(selector: LabelSelector, labels: Readonly<Record<string, string>>): boolean {
  const equal = Object.entries(selector.matchLabels ?? {}).every(([key, value]) => labels[key] === value);
  return (
    equal &&
    (selector.matchExpressions ?? []).every(({ key, operator, values = [] }) => {
      const value = labels[key];
      if (operator === 'Exists') return value !== undefined;
      if (operator === 'DoesNotExist') return value === undefined;
      const isListed = value !== undefined && values.includes(value);
      return operator === 'In' ? isListed : !isListed;
    })
  );
}

function inRange(address: string, cidr: string): boolean {
  const [network = '', bits = '32'] = cidr.split('/');
  const size = 2 ** (32 - Number(bits));
  return Math.floor(numberOf(address) / size) === Math.floor(numberOf(network) / size);
}

function numberOf(address: string): number {
  return address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
}
