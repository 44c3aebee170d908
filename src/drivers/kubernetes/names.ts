import {
  agentLabel,
  agentUidLabel,
  managedByLabel,
  managedByValue,
  roleLabel,
  slotLabel,
} from '#api/labels.ts';
import { digestOf, sha256Hex } from '#kit/digest.ts';
import type { Workload, WorkloadId } from '../workload.ts';

/** Names of the children of an Agent. */
export const agentSecretName = (agent: string) => `${agent}-agent`;
export const installSecretName = (agent: string) => `${agent}-install`;
/** One for each content: a pod that runs keeps the files that it was made with. */
export const codeConfigMapName = (agent: string, data: Readonly<Record<string, string>>) =>
  `${agent}-code-${digestOf(data, 12)}`;
export const networkPolicyName = (agent: string) => `${agent}-agent`;
export const claimName = (agent: string, slot: number) => `${agent}-workspace-${slot}`;

/** Whether a ConfigMap may be one with inline code of the Agent. Earlier versions had one of them, without a digest. */
export function isCodeConfigMapName(agent: string, name: string): boolean {
  const rest = name.startsWith(`${agent}-code`) ? name.slice(agent.length + '-code'.length) : undefined;
  return rest !== undefined && /^(-[0-9a-f]{12})?$/.test(rest);
}

/** Whether a Secret of the name would be the controller's, were there an Agent that is called so. */
export function mayBecomeOwnSecret(name: string): boolean {
  return /.-(agent|install)$/.test(name);
}

/** Annotation on a child that is changed in place: digest of what the controller wrote. */
export const contentDigestAnnotation = 'ploinky.dev/content-digest';
/** Annotation on the install Secret: the commit that the spec (its hash is beside it) is pinned to. */
export const codeRevisionAnnotation = 'ploinky.dev/code-revision';

/** Type of the Secrets that the controller makes; no Agent may refer to one. */
export const agentSecretType = 'ploinky.dev/agent';

/** Everything that the controller makes on a cluster is found by it. */
export const managedSelector = `${managedByLabel}=${managedByValue}`;

/** Labels of every child. */
export function childLabels({ id, role }: Pick<Workload, 'id' | 'role'>): Record<string, string> {
  return {
    [managedByLabel]: managedByValue,
    [agentLabel]: id.name,
    [agentUidLabel]: id.uid,
    [roleLabel]: role,
  };
}

export function podLabels(workload: Workload, slot: number): Record<string, string> {
  return { ...childLabels(workload), [slotLabel]: String(slot) };
}

/** No vowels and nothing that looks like something else, as Kubernetes does it. */
const alphabet = 'bcdfghjklmnpqrstvwxz2456789';

/**
 * The same for the same circumstances, whoever asks: a controller that works on an old cache gets AlreadyExists and
 * never a second pod. `stuck`: uids of pods of the slot and spec that are ending and that this one does not wait for.
 * `salt` tells apart two specs whose hashes meet.
 */
export function podName(
  id: WorkloadId,
  slot: number,
  specHash: string,
  stuck: readonly string[],
  salt = 0,
): string {
  const text = [id.uid, slot, specHash, [...stuck].sort().join(','), salt].join('\n');
  let number = Number.parseInt(sha256Hex(text).slice(0, 12), 16);
  let hash = '';
  for (let digit = 0; digit < 5; digit += 1) {
    hash += alphabet[number % alphabet.length];
    number = Math.floor(number / alphabet.length);
  }
  return `${id.name}-${slot}-${hash}`;
}

/** What an object says of the Agent that it belongs to; undefined for one that is not ours. */
export function workloadIdOf({
  metadata: { namespace = 'default', labels = {} },
}: {
  metadata: { namespace?: string; labels?: Record<string, string> };
}): WorkloadId | undefined {
  const name = labels[agentLabel];
  const uid = labels[agentUidLabel];
  return name === undefined || uid === undefined ? undefined : { namespace, name, uid };
}
