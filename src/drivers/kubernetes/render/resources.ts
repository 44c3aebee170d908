import type { ResourceRequirements } from '#api/cluster-kinds.ts';
import { driverError } from '../../errors.ts';
import type { Workload } from '../../workload.ts';
import type { PodSettings } from '../settings.ts';

/** What a container can have besides extended resources, whose names have a domain. */
const known = ['cpu', 'memory', 'ephemeral-storage'];
/** No pod can say how many processes it may have, nor how many files each: the cluster does (`podPidsLimit` of its kubelets, its runtime). */
const notOfPods = ['pids', 'files'];
const mebibyte = 2 ** 20;

/** Of the container `agent`: what the Agent says, else the administrator's. Throws TerminalError PodTemplate. */
export function mainResources(
  { runtime: { resources } }: Workload,
  { defaults }: PodSettings,
): ResourceRequirements {
  const limits = merge(defaults?.resources?.limits, resources.limits, 'limits');
  const requests = merge(defaults?.resources?.requests, resources.requests, 'requests');
  return {
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
    ...(Object.keys(requests).length === 0 ? {} : { requests }),
  };
}

/**
 * Of the agent-server beside an agent's own program. Tools run in it, so the limits are the agent's; it asks for
 * little, else the scheduler would reserve everything twice.
 */
export function sidecarResources(workload: Workload, settings: PodSettings): ResourceRequirements {
  const { limits: all = {} } = mainResources(workload, settings);
  const limits = Object.fromEntries(Object.entries(all).filter(([name]) => known.includes(name)));
  const { memoryBytes, cpu } = workload.runtime.limits;
  const requests: Record<string, string | number> = {
    cpu: cpu !== undefined && cpu < 0.01 ? (limits['cpu'] ?? '10m') : '10m',
    memory: memoryBytes !== undefined && memoryBytes < 64 * mebibyte ? (limits['memory'] ?? '64Mi') : '64Mi',
    ...settings.defaults?.sidecarRequests,
  };
  // Without a request the API takes the limit for one.
  if (limits['ephemeral-storage'] !== undefined) requests['ephemeral-storage'] ??= 0;
  return { ...(Object.keys(limits).length === 0 ? {} : { limits }), requests };
}

type Quantities = Readonly<Record<string, string | number>>;

function merge(
  defaults: Quantities | undefined,
  own: Quantities | undefined,
  field: string,
): Record<string, string | number> {
  const merged = { ...defaults, ...own };
  for (const name of notOfPods) delete merged[name];
  for (const name of Object.keys(merged)) {
    if (known.includes(name) || name.includes('/') || name.startsWith('hugepages-')) continue;
    const message = `spec.runtime.resources.${field}: "${name}" is no resource of a container; ${known.join(', ')} and names with a domain (example.com/gpu) are.`;
    throw driverError('PodTemplate', message);
  }
  return merged;
}
