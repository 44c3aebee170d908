import { X509Certificate } from 'node:crypto';
import { driverError } from '../errors.ts';
import type { Workload } from '../workload.ts';
import type { KubernetesDriverOptions } from './options.ts';

/**
 * Refuses what `spec.code.git.ca` refers to when git could make nothing of it: that would say so in its own words,
 * after a pod was made. What is not there is not looked at. Throws TerminalError Authority.
 */
export function checkAuthority(
  { secrets, configMaps }: Pick<KubernetesDriverOptions, 'secrets' | 'configMaps'>,
  { id: { namespace }, code }: Workload,
): void {
  if (code?.type !== 'git') return;
  const { secretKeyRef, configMapKeyRef } = code.ca ?? {};
  if (secretKeyRef !== undefined) {
    const { name, key } = secretKeyRef;
    const encoded = secrets.get({ namespace, name })?.data?.[key];
    if (encoded !== undefined)
      checkPem(Buffer.from(encoded, 'base64').toString('utf8'), `Secret "${name}"`, key);
  }
  if (configMapKeyRef !== undefined) {
    const { name, key } = configMapKeyRef;
    const text = configMaps.get({ namespace, name })?.data?.[key];
    if (text !== undefined) checkPem(text, `ConfigMap "${name}"`, key);
  }
}

const block = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

function checkPem(text: string, holder: string, key: string): void {
  const found = text.match(block) ?? [];
  const where = `spec.code.git.ca: key "${key}" of ${holder}`;
  if (found.length === 0) throw driverError('Authority', `${where} has no certificate in it.`);
  for (const [index, certificate] of found.entries()) {
    try {
      new X509Certificate(certificate);
    } catch (error) {
      throw driverError('Authority', `${where}: its certificate ${index + 1} cannot be read.`, error);
    }
  }
}
