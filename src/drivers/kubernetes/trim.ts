import type { NetworkPolicy, Pod, Volume } from '#api/cluster-kinds.ts';
import { managedByLabel, managedByValue } from '#api/labels.ts';
import type { Secret } from '#api/meta.ts';
import { agentSecretType } from './names.ts';
import { volumeNames } from './render/parts.ts';

/*
 * Thousands of each are kept in memory: only what is read of them. May change their argument.
 */

export function trimPod(pod: Pod): Pod {
  const { nodeName, activeDeadlineSeconds, volumes } = pod.spec;
  const kept = volumes?.flatMap(({ name, persistentVolumeClaim, configMap }): Volume[] => {
    if (persistentVolumeClaim !== undefined) return [{ name, persistentVolumeClaim }];
    const isCode = name === volumeNames.code && configMap !== undefined;
    return isCode ? [{ name, configMap: { name: configMap.name } }] : [];
  });
  pod.spec = {
    containers: [],
    ...(nodeName === undefined ? {} : { nodeName }),
    ...(activeDeadlineSeconds === undefined ? {} : { activeDeadlineSeconds }),
    ...(kept === undefined || kept.length === 0 ? {} : { volumes: kept }),
  };
  if (pod.status?.phase === 'Running' && pod.status.conditions !== undefined) {
    pod.status.conditions = pod.status.conditions.filter(({ type }) => !passing.has(type));
  }
  return pod;
}

/** Conditions of a start that is over by the time that the pod runs. */
const passing: ReadonlySet<string> = new Set(['PodReadyToStartContainers', 'Initialized']);

/** What is in the driver's own Secrets is known by their digest and never read; agents cannot refer to them. */
export function trimSecret(secret: Secret): Secret {
  const isOwn = secret.metadata.labels?.[managedByLabel] === managedByValue;
  if (!isOwn || secret.type !== agentSecretType) return secret;
  // A copy: an object that a member was deleted from takes three times the memory from then on.
  const { data: _, ...rest } = secret;
  return rest;
}

/** The rules of almost all agents are the same: those that equal the last ones are these. */
export function createTrimPolicy(): (policy: NetworkPolicy) => NetworkPolicy {
  const shareIngress = createShare<NetworkPolicy['spec']['ingress']>();
  const shareEgress = createShare<NetworkPolicy['spec']['egress']>();
  return (policy) => {
    const { ingress, egress } = policy.spec;
    if (ingress !== undefined) policy.spec.ingress = shareIngress(ingress);
    if (egress !== undefined) policy.spec.egress = shareEgress(egress);
    return policy;
  };
}

/** Holds one value, so that it never holds many. */
function createShare<T>(): (value: T & {}) => T & {} {
  let last: { readonly text: string; readonly value: T & {} } | undefined;
  return (value) => {
    const text = JSON.stringify(value);
    if (last?.text !== text) last = { text, value };
    return last.value;
  };
}
