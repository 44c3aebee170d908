import { isObject } from '#kit/json.ts';
import type { CheckResult, Cluster } from '../../context.ts';
import { fail, ok } from './result.ts';

/** The oldest minor of Kubernetes 1 that the chart installs into. */
export const oldestMinor = 30;

export async function checkApi({ client, server, context }: Cluster): Promise<CheckResult> {
  const version: unknown = JSON.parse(await client.getText('/version', { timeoutMs: 10_000 }));
  const git = isObject(version) ? String(version['gitVersion']) : '?';
  return judgeVersion(git, `${git} at ${server}, context ${context}`);
}

export function judgeVersion(git: string, detail: string): CheckResult {
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(git) ?? [];
  if (Number(major) > 1 || Number(minor) >= oldestMinor) return ok(detail);
  return fail(detail, `Ploinky needs Kubernetes 1.${oldestMinor} or later: upgrade the cluster.`);
}
