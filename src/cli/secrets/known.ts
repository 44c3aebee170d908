import type { Agent } from '#api/agent.ts';
import type { Secret } from '#api/meta.ts';
import { secretResource } from '#api/resources.ts';
import { secretsSecretName } from '#api/secrets.ts';
import { createRedactor, type Redactor } from '#kit/redact.ts';
import type { Client } from '#kube/client.ts';

/**
 * Knows the values of the Secrets that an Agent's variables come from, as far as whoever asks may read them: what a
 * pod's own command writes is in the kubelet's log as it wrote it.
 */
export async function redactorFor(client: Client, { metadata, spec }: Agent): Promise<Redactor> {
  const references = (spec.env ?? []).flatMap(({ valueFrom }) => {
    const { name, key } = valueFrom?.secretKeyRef ?? {};
    if (name !== undefined) return [{ name, key }];
    // An alias may lead to any of them.
    return valueFrom?.alias === undefined ? [] : [{ name: secretsSecretName, key: undefined }];
  });
  const names = [...new Set(references.map(({ name }) => name))];
  const found = await Promise.all(
    names.map(async (name) => {
      const at = { namespace: metadata.namespace ?? 'default', name };
      const secret = await client.find<Secret>(secretResource, at).catch(() => undefined);
      const wanted = references.filter((reference) => reference.name === name);
      const isWanted = (key: string) =>
        wanted.some((reference) => reference.key === undefined || reference.key === key);
      return Object.entries(secret?.data ?? {}).filter(([key]) => isWanted(key));
    }),
  );
  return createRedactor(found.flat().map(([, data]) => Buffer.from(data, 'base64').toString('utf8')));
}
