import type { ConfigMap, Secret } from '#api/meta.ts';
import type { NamespacedInformers } from '#kube/namespaced-informers.ts';
import type { Blocked } from './facts.ts';

/** How far the namespaces are known whose Secrets and ConfigMaps are read one namespace at a time. */
export interface NamespaceAccess {
  readonly secrets: Pick<NamespacedInformers<Secret>, 'settled' | 'forbidden' | 'onAccess'>;
  readonly configMaps: Pick<NamespacedInformers<ConfigMap>, 'settled'>;
}

/**
 * What is not known is no reason to act: an unread Secret is not a missing one, and with an unread ConfigMap an
 * optional reference would look like a changed spec.
 */
export async function blockedIn(
  namespace: string,
  { access, homeNamespace }: { readonly access?: NamespaceAccess; readonly homeNamespace: string },
): Promise<Blocked | undefined> {
  if (access === undefined) return undefined;
  const { secrets, configMaps } = access;
  const [state, mapState] = await Promise.all([secrets.settled(namespace), configMaps.settled(namespace)]);
  if (state === 'forbidden') return forbidden(namespace, homeNamespace, secrets.forbidden(namespace) ?? '');
  if (state !== 'synced') return reading('Secrets');
  return mapState === 'waiting' || mapState === 'unfollowed' ? reading('ConfigMaps') : undefined;
}

function reading(what: string): Blocked {
  return { reason: 'Starting', message: `The ${what} of the namespace are being read.` };
}

function forbidden(namespace: string, homeNamespace: string, said: string): Blocked {
  const grant = `kubectl create rolebinding ploinky-agent-secrets -n ${namespace} --clusterrole=ploinky-agent-secrets --serviceaccount=${homeNamespace}:ploinky-controller`;
  const message = `The controller may not read the Secrets of namespace ${namespace}. To let it, add the namespace to the chart's agentNamespaces, or: ${grant} (${said})`;
  return { reason: 'Forbidden', message };
}
