import { hostname } from 'node:os';
import { systemClock } from '#kit/clock.ts';
import { closeInheritedDescriptors } from '#kit/descriptors.ts';
import { systemRandom } from '#kit/random.ts';
import { createClient } from '#kube/client.ts';
import { unixEndpoint } from '#kube/endpoint.ts';
import { followApi } from '#router/follow-api.ts';
import { defaultLimits } from '#router/limits.ts';
import { publishTable } from '#router/publish-table.ts';
import { type Listeners, startRouter } from '#router/start.ts';
import { locateWorkspace } from '#workspace/host.ts';
import { createAccessLog } from './access-log.ts';
import { authFlags, publicHosts, readAuthFlags } from './auth-flags.ts';
import { createLog } from './log.ts';
import { parseFlags, parseHostPort, parseLimits, parseWhole, splitList } from './options.ts';
import { reclaimYoung } from './reclaim-young.ts';
import { type Running, runUntilEnded } from './run.ts';
import { version } from './version.ts';

/**
 * The router of one workspace: `--workspace DIR` and `--listen-fd N` or `--listen HOST:PORT`; optionally
 * `--allow-host NAMES` and `--allow-origin ORIGINS`, separated by commas, and `--limits NAME=VALUE,…`.
 */
const log = createLog('router');
const homeNamespace = 'default';
/** How long, in milliseconds, connections wait for a router that cannot ask the API; then it says so itself. */
const patienceMs = 5_000;

async function start(): Promise<Running> {
  const flags = parseFlags(process.argv.slice(2), {
    workspace: undefined,
    'listen-fd': '',
    listen: '127.0.0.1:8080',
    'allow-host': '',
    'allow-origin': '',
    limits: '',
    ...authFlags,
  });
  const open = publicListener(flags['listen-fd'], flags.listen);
  closeInheritedDescriptors('fd' in open ? [open.fd] : []);
  const paths = await locateWorkspace(flags.workspace, process.env);
  const endpoint = unixEndpoint(paths.apiSocket);
  const client = createClient({ endpoint, clock: systemClock, userAgent: 'ploinky-router' });
  const common = { clock: systemClock, random: systemRandom, log };
  const following = followApi({ ...common, client, homeNamespace });
  const { tables, keys, people, logouts } = following;
  const router = await startRouter(
    {
      ...common,
      tables,
      keys,
      people,
      logouts,
      auth: readAuthFlags(flags, { loopback: true }),
      limits: parseLimits('limits', flags.limits, defaultLimits, ['listsAhead']),
      // A socket that outlives routers holds connections already: one that knows no keys would refuse their calls.
      listenAfter: Promise.race([following.synced, systemClock.sleep(patienceMs)]),
      accessLog: createAccessLog('router'),
      reclaim: reclaimYoung(),
      version,
      allowedHosts: [...splitList(flags['allow-host']), ...publicHosts(flags['public-url'])],
      allowedOrigins: splitList(flags['allow-origin']),
    },
    { public: open, agents: paths.routerSocket },
  );
  const published = publishTable({
    ...common,
    client,
    tables,
    conflicts: router.services.conflicts,
    namespace: homeNamespace,
    name: `ploinky-router-${hostname().toLowerCase()}`,
  });
  log.info('the router listens', { port: router.port, agents: paths.routerSocket });
  return {
    async close() {
      await published.stop();
      await router.close();
      await following.stop();
      await client.close();
    },
  };
}

function publicListener(fd: string, address: string): Listeners['public'] {
  return fd === '' ? parseHostPort('listen', address) : { fd: parseWhole('listen-fd', fd, 0, 1_048_576) };
}

runUntilEnded(log, start);
