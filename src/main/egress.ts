import { followAgents } from '#egress/follow-agents.ts';
import { startEgressProxy } from '#egress/proxy.ts';
import { systemClock } from '#kit/clock.ts';
import { closeInheritedDescriptors } from '#kit/descriptors.ts';
import { systemRandom } from '#kit/random.ts';
import { createClient } from '#kube/client.ts';
import { unixEndpoint } from '#kube/endpoint.ts';
import { locateWorkspace } from '#workspace/host.ts';
import { createLog } from './log.ts';
import { parseFlags } from './options.ts';
import { resolveByMachine } from './resolve.ts';
import { type Running, runUntilEnded } from './run.ts';

/** The egress proxy of one workspace: `--workspace DIR`. It follows the Agents and the master key through the API. */
const log = createLog('egress');
const homeNamespace = 'default';

async function start(): Promise<Running> {
  closeInheritedDescriptors();
  const flags = parseFlags(process.argv.slice(2), { workspace: undefined });
  const paths = await locateWorkspace(flags.workspace, process.env);
  const endpoint = unixEndpoint(paths.apiSocket);
  const client = createClient({ endpoint, clock: systemClock, userAgent: 'ploinky-egress' });
  const following = followAgents({ client, clock: systemClock, random: systemRandom, log, homeNamespace });
  const proxy = await startEgressProxy({
    listen: { socket: paths.egressSocket },
    lookup: following.lookup,
    resolve: resolveByMachine,
    log,
  });
  log.info('egress proxy listens', { address: proxy.address });
  return {
    async close() {
      await proxy.close();
      await following.stop();
      await client.close();
    },
  };
}

runUntilEnded(log, start);
