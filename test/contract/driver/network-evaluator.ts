import { BlockList, isIP } from 'node:net';
import type {
  LabelSelector,
  NetworkPolicy,
  NetworkPolicyPeer,
  NetworkPolicyPort,
} from '#api/cluster-kinds.ts';

/** One end of a connection. Without `pod` it is outside the cluster. */
export interface End {
  readonly address: string;
  readonly pod?: {
    readonly namespace: string;
    readonly namespaceLabels?: Readonly<Record<string, string>>;
    readonly labels: Readonly<Record<string, string>>;
    /** Container ports by name. */
    readonly ports?: Readonly<Record<string, number>>;
  };
}

/**
 * Whether a network that follows NetworkPolicies lets `from` connect to a TCP port of `to`, by the rules of
 * https://kubernetes.io/docs/concepts/services-networking/network-policies/: a pod that no policy of a direction
 * selects is open in it, and of those that select it one has to allow the connection.
 */
export function connects(policies: readonly NetworkPolicy[], from: End, to: End, port: number): boolean {
  return allows(policies, 'Egress', from, to, port, to) && allows(policies, 'Ingress', to, from, port, to);
}

function allows(
  policies: readonly NetworkPolicy[],
  direction: 'Ingress' | 'Egress',
  self: End,
  other: End,
  port: number,
  target: End,
): boolean {
  const selecting = policies.filter((policy) => selects(policy, direction, self));
  if (selecting.length === 0) return true;
  return selecting.some(({ metadata, spec }) => {
    const rules =
      direction === 'Ingress'
        ? (spec.ingress ?? []).map(({ from, ports }) => ({ peers: from, ports }))
        : (spec.egress ?? []).map(({ to, ports }) => ({ peers: to, ports }));
    return rules.some(
      ({ peers = [], ports = [] }) =>
        (peers.length === 0 || peers.some((peer) => isPeer(peer, other, metadata.namespace ?? ''))) &&
        (ports.length === 0 || ports.some((entry) => isPort(entry, port, target))),
    );
  });
}

function selects({ metadata, spec }: NetworkPolicy, direction: 'Ingress' | 'Egress', { pod }: End): boolean {
  if (pod === undefined || pod.namespace !== metadata.namespace) return false;
  const types = spec.policyTypes ?? ['Ingress', ...(spec.egress === undefined ? [] : ['Egress'])];
  return types.includes(direction) && matches(spec.podSelector, pod.labels);
}

/** All selectors of one peer count together. */
function isPeer(peer: NetworkPolicyPeer, { pod, address }: End, policyNamespace: string): boolean {
  if (peer.ipBlock !== undefined) {
    const { cidr, except = [] } = peer.ipBlock;
    return isIn(cidr, address) && !except.some((range) => isIn(range, address));
  }
  if (pod === undefined) return false;
  const namespaceLabels = { 'kubernetes.io/metadata.name': pod.namespace, ...pod.namespaceLabels };
  const inNamespace =
    peer.namespaceSelector === undefined
      ? pod.namespace === policyNamespace
      : matches(peer.namespaceSelector, namespaceLabels);
  return inNamespace && matches(peer.podSelector ?? {}, pod.labels);
}

/** A port by name is one of the pod that is connected to. */
function isPort({ protocol = 'TCP', port }: NetworkPolicyPort, wanted: number, { pod }: End): boolean {
  const number = typeof port === 'string' ? pod?.ports?.[port] : port;
  return protocol === 'TCP' && (port === undefined || number === wanted);
}

function matches(
  { matchLabels = {}, matchExpressions = [] }: LabelSelector,
  labels: Readonly<Record<string, string>>,
): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = labels[key];
      if (operator === 'In') return value !== undefined && values.includes(value);
      if (operator === 'NotIn') return value === undefined || !values.includes(value);
      return (operator === 'Exists') === (value !== undefined);
    })
  );
}

function isIn(cidr: string, address: string): boolean {
  const [network = '', prefix = ''] = cidr.split('/');
  if (isIP(network) !== isIP(address)) return false;
  const list = new BlockList();
  list.addSubnet(network, Number(prefix), isIP(network) === 6 ? 'ipv6' : 'ipv4');
  return list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}
