import { formatSpan } from '../../age.ts';
import type { CheckResult, Cli, Cluster } from '../../context.ts';
import type { GlobalOptions } from '../../target.ts';
import { type ProgramFacts, readPrograms, type SignOfLife } from '../facts.ts';
import { type Installation, lookForInstallation } from '../installation.ts';
import { fail, ok, warn } from './result.ts';

/** An installation with how its programs are; `hidden`: the caller may not look. */
export type Found = (Installation & { readonly programs: ProgramFacts }) | 'hidden' | undefined;

/** Asked once for several checks; each of them shows why it failed. */
export function readInstallation(cli: Cli, cluster: Cluster, options: GlobalOptions): Promise<Found> {
  const reading = (async () => {
    const found = await lookForInstallation(cluster, options);
    if (found === undefined || found === 'hidden') return found;
    return { ...found, programs: await readPrograms(cluster, found, cli.clock.now()) };
  })();
  reading.catch(() => undefined);
  return reading;
}

export function checkController(cluster: Cluster, found: Found): CheckResult {
  if (found === undefined) return notInstalled(cluster);
  if (found === 'hidden') return hidden();
  const { leader, waits } = found.programs;
  const remedy = `Read \`ploinky logs --process controller --context ${cluster.context}\` and \`kubectl -n ${found.namespace} get deployments,pods\`.`;
  if (leader === undefined) {
    return warn(
      `you may not read Leases in ${found.namespace}`,
      'Ask an administrator to run `ploinky doctor`.',
    );
  }
  const why = waits.controller.map((wait) => `; ${wait}`).join('');
  if (leader === null) return fail(`none has ever led${why}`, remedy);
  if (leader.alive) return ok(`led by ${leader.holder}, a sign of life ${spanOf(leader)} ago`);
  return fail(`its leader ${leader.holder} has given no sign of life for ${spanOf(leader)}${why}`, remedy);
}

export function checkRouters(cluster: Cluster, found: Found): CheckResult {
  if (found === undefined) return notInstalled(cluster);
  if (found === 'hidden') return hidden();
  const { routers, routerPods, waits } = found.programs;
  const pods = `${routerPods.ready} of ${routerPods.all} pods ready in ${found.namespace}`;
  const alive = routers?.filter((sign) => sign.alive).length;
  const why = waits.router.map((wait) => `; ${wait}`).join('');
  const signs = alive === undefined ? why : `, ${alive} with a sign of life${why}`;
  const remedy = `Read \`ploinky logs --process router --context ${cluster.context}\` and \`kubectl -n ${found.namespace} get deployments,pods\`.`;
  if (routerPods.ready === 0 || alive === 0) return fail(`${pods}${signs}`, remedy);
  if (routerPods.ready < routerPods.all) return warn(`${pods}${signs}`, remedy);
  return ok(`${pods}${signs}`);
}

function spanOf({ age }: SignOfLife): string {
  return Number.isFinite(age) ? formatSpan(age) : 'ever';
}

function notInstalled({ context }: Cluster): CheckResult {
  return fail('not installed', `Install Ploinky: ploinky install --context ${context}`);
}

function hidden(): CheckResult {
  return warn(
    'you may not look for its pods in other namespaces',
    'Name the namespace of the installation with --home-namespace, or ask an administrator to run `ploinky doctor`.',
  );
}
