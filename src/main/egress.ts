import { lookup } from 'node:dns/promises';
import { type Agent, agentResource } from '#api/agent.ts';
import type { Secret } from '#api/meta.ts';
import { secretResource } from '#api/resources.ts';
import { lookupInAgents } from '#egress/agents.ts';
import { startEgressProxy } from '#egress/proxy.ts';
import { systemClock } from '#kit/clock.ts';
import { closeInheritedDescriptors } from '#kit/descriptors.ts';
import { systemRandom } from '#kit/random.ts';
import { createClient } from '#kube/client.ts';
import { unixEndpoint } from '#kube/endpoint.ts';
import { createInformer } from '#kube/informer.ts';
import { masterKeysFromSecret, masterSecretName } from '#wire/keys.ts';
import { locateWorkspace } from '#workspace/host.ts';
import { createLog } from './log.ts';
import { parseFlags } from './options.ts';
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
  const common = { client, clock: systemClock, random: systemRandom, log };
  const agents = createInformer<Agent>({ ...common, resource: agentResource });
  const secrets = createInformer<Secret>({
    ...common,
    resource: secretResource,
    namespace: homeNamespace,
    fieldSelector: `metadata.name=${masterSecretName}`,
  });
  agents.start();
  secrets.start();
  const proxy = await startEgressProxy({
    listen: { socket: paths.egressSocket },
    lookup: lookupInAgents({
      agent: (namespace, name) => agents.cache.get({ namespace, name }),
      masterKeys: () => secrets.cache.list().flatMap(masterKeysFromSecret),
    }),
    resolve: async (name) =>
      (await lookup(name, { all: true, order: 'ipv4first' })).map(({ address }) => address),
    log,
  });
  log.info('egress proxy listens', { address: proxy.address });
  return {
    async close() {
      await proxy.close();
      await Promise.all([agents.stop(), secrets.stop()]);
      await endpoint.close();
    },
  };
}

runUntilEnded(log, start);
