import { openRange } from '#api/address-ranges.ts';
import type { NetworkPolicy, NetworkPolicyPeer } from '#api/cluster-kinds.ts';
import { agentUidLabel, managedByLabel, managedByValue } from '#api/labels.ts';
import type { Workload } from '../../workload.ts';
import type { PodSettings } from '../settings.ts';
import { mcpPort } from './parts.ts';

/** Ports of our own pods, as their containers have them. */
const routerAgentsPort = 8081;
const egressPort = 3128;
const defaultPort = 443;

type Spec = NetworkPolicy['spec'];
type EgressRule = NonNullable<Spec['egress']>[number];

/**
 * In: calls from router and controller. Out: the router, the egress proxy and the address ranges that the Agent
 * lists; no names are looked up. Every default of the API is written out, so that what it stores is what is here.
 */
export function networkPolicySpec(workload: Workload, settings: PodSettings): Spec {
  return {
    podSelector: {
      matchLabels: { [managedByLabel]: managedByValue, [agentUidLabel]: workload.id.uid },
    },
    policyTypes: ['Ingress', 'Egress'],
    ingress: [{ from: [homePods(['router', 'controller'], settings)], ports: tcp([mcpPort]) }],
    egress: [
      { to: [homePods(['router'], settings)], ports: tcp([routerAgentsPort]) },
      { to: [homePods(['egress'], settings)], ports: tcp([egressPort]) },
      ...workload.egress.flatMap(listedRange),
    ],
  };
}

/**
 * Namespace and pod in one entry: both have to match. In two entries either would do, and every pod that anybody
 * labels so in a namespace of his own would get in.
 */
function homePods(components: readonly string[], { homeNamespace }: PodSettings): NetworkPolicyPeer {
  return {
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': homeNamespace } },
    podSelector: {
      matchLabels: { 'app.kubernetes.io/name': 'ploinky' },
      matchExpressions: [{ key: 'app.kubernetes.io/component', operator: 'In', values: [...components] }],
    },
  };
}

function tcp(ports: readonly number[]): { protocol: 'TCP'; port: number }[] {
  return ports.map((port) => ({ protocol: 'TCP', port }));
}

/** A range that is listed, less what no agent reaches: the same that the egress proxy would refuse. */
function listedRange({ cidr, ports = [defaultPort] }: Workload['egress'][number]): EgressRule[] {
  if (cidr === undefined) return [];
  const range = openRange(cidr);
  if (range === undefined) return [];
  const ipBlock = range.except.length === 0 ? { cidr: range.cidr } : { ...range, except: [...range.except] };
  return [{ to: [{ ipBlock }], ports: tcp(ports) }];
}
