import type { WorkloadView } from '../../shared/environment.ts';
import type { Workload } from '../../workload.ts';
import type { PodSettings } from '../settings.ts';
import { paths } from './parts.ts';

/** Port of the agent's own HTTP server; the agent-server has 7000. */
const ownPort = 7001;

/** The names of the Ploinky contract, as in every sandbox. */
export function podView(workload: Workload, settings: PodSettings): WorkloadView {
  const hasDeps = workload.install !== undefined;
  const deps = hasDeps
    ? ['node_modules/.bin', 'python/bin', 'bin'].map((name) => `${paths.deps}/${name}`)
    : [];
  const system = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
  return {
    code: paths.code,
    workspace: paths.workspace,
    deps: hasDeps ? paths.deps : undefined,
    temporary: paths.temporary,
    exits: { router: settings.routerAddress, egress: settings.egressAddress },
    routerUrl: 'http://127.0.0.1:8080',
    path: [...deps, `${paths.agent}/bin`, system].join(':'),
    runtime: 'kubernetes',
    port: ownPort,
  };
}
