import { join } from 'node:path';
import { buildPart, type Missing } from '../parts.ts';

/**
 * The binary with etcd, every Kubernetes server and kubectl. Built once (some six minutes on two cores) and kept.
 * `PLOINKY_KUBE_BUILD=0` forbids building: then only a kept binary is used.
 */
export async function kubeBinary(progress: (line: string) => void): Promise<string | Missing> {
  const folder = await buildPart('kube', progress);
  return typeof folder === 'string' ? join(folder, 'kubelab') : folder;
}
