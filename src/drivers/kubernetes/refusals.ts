import { TerminalError } from '#kit/errors.ts';
import { ApiError } from '#kube/errors.ts';
import { reasonOfCode } from '../errors.ts';
import type { Fault } from '../workload.ts';
import { fault } from './observe/container-faults.ts';

const quota =
  /exceeded quota|failed quota|(maximum|minimum) \S+ usage per|limit to request ratio|must specify/i;
const podSecurity = /violates PodSecurity/i;
const webhook = /admission webhook|failed calling webhook|ValidatingAdmissionPolicy/i;
const rights = /cannot (\w+) resource/i;

/**
 * What the API's refusal of a child means for the Agent, in words of this project and the API's own; undefined for
 * what passes by itself or is a matter of trying again (the API is down, a conflict).
 */
export function refusalOf(error: unknown, namespace: string, roleBinding: string): Fault | undefined {
  if (error instanceof TerminalError) return refusedByDriver(error);
  if (!(error instanceof ApiError)) return undefined;
  const { status, message } = error;
  if (webhook.test(message)) return fault('AdmissionRefused', message);
  if (status !== 403 && status !== 400 && status !== 422) return undefined;
  if (error.details?.causes?.some(({ reason }) => reason === 'NamespaceTerminating')) return undefined;
  if (podSecurity.test(message)) return fault('AdmissionRefused', message);
  if (status === 403 && quota.test(message)) return fault('QuotaExceeded', message);
  if (status === 403 && rights.test(message)) return forbidden(message, namespace, roleBinding);
  return fault('AdmissionRefused', message);
}

function forbidden(message: string, namespace: string, roleBinding: string): Fault {
  const remedy = `Create RoleBinding ${roleBinding} in namespace ${namespace} (Helm value agentNamespaces).`;
  return fault('Forbidden', `${message} ${remedy}`);
}

function refusedByDriver({ code, message, remedy }: TerminalError): Fault {
  const reason = reasonOfCode[code] ?? 'Invalid';
  return { reason, message: remedy === undefined ? message : `${message} ${remedy}` };
}
