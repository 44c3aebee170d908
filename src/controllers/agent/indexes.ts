import type { Agent } from '#api/agent.ts';
import { secretsSecretName } from '#api/secrets.ts';
import { secretsOf } from '../auth/references.ts';
import { codeMapOf, codeReferences } from './gather.ts';
import { upstreamReferences } from './gather-upstream.ts';

export const dependencyIndex = 'dependsOn';
export const secretIndex = 'secret';
export const configMapIndex = 'configMap';

/** Agents by what they depend on, so that a change of one finds the others; for the Agent informer. */
export const agentIndexes = {
  [dependencyIndex]: (agent: Agent) =>
    named(
      agent,
      agent.spec.dependsOn?.map(({ name }) => name),
    ),
  [secretIndex]: (agent: Agent) =>
    named(agent, [
      ...referencesOf(agent).map((ref) => ref?.secretKeyRef?.name),
      secretOfAliases(agent),
      ...secretsOf(askingOf(agent)),
    ]),
  [configMapIndex]: (agent: Agent) =>
    named(agent, [...referencesOf(agent).map((ref) => ref?.configMapKeyRef?.name), codeMapOf(agent)]),
};

/** Whether anything of its environment is looked up by name. */
export function usesAliases({ spec }: Agent): boolean {
  return spec.env?.some(({ valueFrom }) => valueFrom?.alias !== undefined) ?? false;
}

function secretOfAliases(agent: Agent): string | undefined {
  return usesAliases(agent) ? secretsSecretName : undefined;
}

/** What its `auth` names is looked up by. */
export function askingOf({ spec, metadata }: Agent) {
  return { auth: spec.auth, namespace: metadata.namespace ?? '', name: metadata.name };
}

function referencesOf(agent: Agent) {
  const variables = (agent.spec.env ?? []).map(({ valueFrom }) => valueFrom);
  return [...variables, ...codeReferences(agent), ...upstreamReferences(agent)];
}

function named(agent: Agent, names: readonly (string | undefined)[] | undefined): string[] {
  const namespace = agent.metadata.namespace ?? '';
  return (names ?? []).flatMap((name) => (name === undefined ? [] : [`${namespace}/${name}`]));
}
