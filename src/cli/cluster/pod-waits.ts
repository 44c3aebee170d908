import type { Container, ContainerStatus, Pod } from './objects.ts';

/** States that every container passes. */
const passing = new Set(['ContainerCreating', 'PodInitializing']);

/**
 * Why containers of these pods have not begun, a sentence each: an image that cannot be pulled is named. Equal ones of
 * several pods are told once.
 */
export function waitsOf(pods: readonly Pod[]): string[] {
  const told = pods.flatMap((pod) => {
    const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
    return [...initContainerStatuses, ...containerStatuses].flatMap((status) => waitOf(pod, status));
  });
  return [...new Set(told)];
}

function waitOf({ spec }: Pod, { name, image, state }: ContainerStatus): string[] {
  const { reason = '', message = '' } = state?.waiting ?? {};
  if (reason === '' || passing.has(reason)) return [];
  if (!/image|registry/i.test(reason)) return [`container ${name}: ${reason}${message && `: ${message}`}`];
  const wanted = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].find(isNamed(name));
  return [`container ${name} cannot get its image ${wanted?.image ?? image ?? ''} (${reason})`];
}

function isNamed(wanted: string): (container: Container) => boolean {
  return ({ name }) => name === wanted;
}

/** How to see everything that the cluster knows of them. */
export function lookAt(pods: readonly Pod[], namespace: string): string {
  const [first] = pods;
  return first === undefined
    ? `kubectl -n ${namespace} get deployments,pods,events`
    : `kubectl -n ${namespace} describe pod ${first.metadata.name}`;
}
