import { managedByLabel, managedByValue } from '#api/labels.ts';
import type { Secret } from '#api/meta.ts';
import { masterSecretName } from '#wire/keys.ts';

/**
 * Whether a Secret holds keys of the workspace, of its people or of agents. Who may write an Agent or a Route must not get
 * at one by naming it: they would be whoever they like.
 */
export function isOwnSecret(name: string, secret: Secret | undefined): boolean {
  return name === masterSecretName || secret?.metadata.labels?.[managedByLabel] === managedByValue;
}
