import { followApi } from '#router/follow-api.ts';
import { defaultLimits } from '#router/limits.ts';
import { followPeers } from '#router/peers/lease-source.ts';
import { publishTable } from '#router/publish-table.ts';
import { startRouter } from '#router/start.ts';
import { createAccessLog } from '../access-log.ts';
import { authFlags, publicHosts, readAuthFlags } from '../auth-flags.ts';
import { createLog } from '../log.ts';
import {
  parseFlags,
  parseHostClaims,
  parseHostPort,
  parseLimits,
  parseWhole,
  splitList,
} from '../options.ts';
import { reclaimYoung } from '../reclaim-young.ts';
import { type Running, runUntilEnded } from '../run.ts';
import { version } from '../version.ts';
import { commonFlags, openProgram, type Program } from './program.ts';

/** The router of a cluster: any number of replicas, none of which holds what another could not take over. */
const log = createLog('router');

const flagDefaults = {
  ...commonFlags,
  listen: '0.0.0.0:8080',
  'agents-listen': '0.0.0.0:8081',
  'peers-listen': '0.0.0.0:8082',
  'allow-host': '',
  'allow-origin': '',
  'host-claims': '',
  'drain-seconds': '10',
  limits: '',
  ...authFlags,
};

/** Running calls may take this long after that, within the pod's own time to end of 60 s; `--limits drainMs=…` says another. */
const drainMs = 45_000;

async function start(): Promise<Running> {
  const flags = parseFlags(process.argv.slice(2), flagDefaults);
  const listeners = {
    public: parseHostPort('listen', flags.listen),
    agents: parseHostPort('agents-listen', flags['agents-listen']),
  };
  const limits = parseLimits('limits', flags.limits, defaultLimits, ['listsAhead']);
  const hostClaims = parseHostClaims('host-claims', flags['host-claims']);
  const lameDuckMs = parseWhole('drain-seconds', flags['drain-seconds'], 0, 3_600) * 1000;
  const program = await openProgram('router', flags, log);
  const { client, homeNamespace, namespace, clock, random } = program;
  const common = { clock, random, log };
  const following = followApi({
    ...common,
    client,
    metrics: program.metrics,
    homeNamespace,
    hostClaims,
    ...(namespace !== undefined && { namespace }),
  });
  const { tables, keys, people, logouts } = following;
  const name = `ploinky-router-${program.podName}`;
  const peers = openPeers(program, name, flags['peers-listen']);
  const router = await startRouter(
    {
      ...common,
      tables,
      keys,
      people,
      logouts,
      auth: readAuthFlags(flags, { loopback: false }),
      limits: { drainMs, ...limits, lameDuckMs },
      registry: program.registry,
      accessLog: createAccessLog('router'),
      reclaim: reclaimYoung(),
      version,
      allowedHosts: [
        ...serviceNames(homeNamespace),
        ...splitList(flags['allow-host']),
        ...publicHosts(flags['public-url']),
      ],
      allowedOrigins: splitList(flags['allow-origin']),
      anyLoopbackPort: true,
      ...(peers && { peers: peers.source }),
    },
    { ...listeners, ...(peers && { peers: peers.listener }) },
  );
  const { peerAddress } = router;
  const published = publishTable({
    ...common,
    client,
    tables,
    conflicts: router.services.conflicts,
    namespace: homeNamespace,
    name,
    ...(peerAddress !== undefined && { peerAddress }),
  });
  log.info('the router listens', { port: router.port, agents: listeners.agents.port, peers: peerAddress });
  return {
    async close() {
      await Promise.all([published.stop(), router.close()]);
      await Promise.all([following.stop(), peers?.source.stop()]);
      await client.close();
    },
  };
}

/** Routers tell each other which sessions ended, at their pods' addresses; outside a pod there are no others. */
function openPeers({ client, clock, random, metrics, homeNamespace }: Program, ownName: string, at: string) {
  const advertised = process.env['POD_IP'];
  if (advertised === undefined) return undefined;
  const common = { client, clock, random, log, metrics };
  return {
    source: followPeers({ ...common, namespace: homeNamespace, ownName }),
    listener: { ...parseHostPort('peers-listen', at), advertised },
  };
}

/** How clients inside the cluster name the router's Service; what leads here from outside, `--allow-host` says. */
function serviceNames(namespace: string): string[] {
  const full = `ploinky-router.${namespace}.svc`;
  return ['ploinky-router', `ploinky-router.${namespace}`, full, `${full}.cluster.local`];
}

runUntilEnded(log, start, { parent: 'none' });
