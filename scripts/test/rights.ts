import { readFile } from 'node:fs/promises';
import { compareAudit } from '#test/chart/audit.ts';
import { findHelm, homeNamespace, render } from '../chart/helm.ts';
import { rarePermissions } from '../rbac/table.ts';
import { nothing, type Outcome } from './run-files.ts';

const name = 'the rights of the chart are what the programs asked for in all tests on clusters';
const file = 'scripts/test/rights.ts';
/** Where agents are that are not in the home namespace. */
const elsewhere = 'agents';

/**
 * Compares what the service accounts of every release on every cluster asked (lines of audit logs) with what the chart
 * lets them: nothing more, and nothing that no test uses. Only for a run of the whole suite.
 */
export async function checkRights(askedFile: string): Promise<Outcome> {
  const outcome = nothing();
  const lines = await readFile(askedFile, 'utf8').catch(() => '');
  const helm = await findHelm(console.log);
  const reason = typeof helm === 'string' ? 'no audit log was to be had' : helm.missing;
  if (lines === '' || typeof helm !== 'string') {
    outcome.skips.push({ name, file, reason });
    return outcome;
  }
  const roles = await render(helm, { values: `agentNamespaces: [${elsewhere}]` });
  const compared = compareAudit(lines.split('\n').map(asIfInHome), roles, rarePermissions());
  for (const grant of compared.rarelyUsed) console.log(`Rights: needed in faults only, not seen: ${grant}`);
  const wrong = [
    ...compared.usedNotGranted.map((use) => `used and not granted: ${use}`),
    ...compared.grantedNotUsed.map((grant) => `granted and not used: ${grant}`),
  ];
  console.log(`Rights: ${compared.requests} kinds of request compared, ${wrong.length} differences`);
  if (wrong.length === 0) outcome.passed += 1;
  else outcome.failures.push({ name, file, error: wrong.join('\n') });
  return outcome;
}

interface Event {
  user?: { username?: string };
  objectRef?: { namespace?: string };
  responseStatus?: { code?: number };
}

/** Releases live in many namespaces; each one's is the home namespace of the rendered chart. */
function asIfInHome(line: string): string {
  if (line === '') return line;
  const event = JSON.parse(line) as Event;
  const [, , namespace, account] = event.user?.username?.split(':') ?? [];
  if (namespace === undefined || account === undefined) return line;
  event.user = { ...event.user, username: `system:serviceaccount:${homeNamespace}:${account}` };
  const asked = event.objectRef?.namespace;
  if (event.objectRef !== undefined && asked !== undefined) {
    event.objectRef.namespace = asked === namespace ? homeNamespace : elsewhere;
  }
  return JSON.stringify(event);
}
