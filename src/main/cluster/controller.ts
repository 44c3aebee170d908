import { giveBackMemory } from '../give-back-memory.ts';
import { createLog } from '../log.ts';
import { parseChoice, parseFlags, parseHostClaims, parseHostPort, parseWhole } from '../options.ts';
import { resolveByMachine } from '../resolve.ts';
import { type Running, runUntilEnded } from '../run.ts';
import { startLeading } from './leading.ts';
import { manageCluster } from './manage.ts';
import { podFlags, readPodFlags, settlePods } from './pod-settings.ts';
import { commonFlags, openProgram, serveStatus } from './program.ts';

/** The controller of a cluster. One of its replicas leads and reconciles; the others wait for the Lease. */
const log = createLog('controller');

const flagDefaults = {
  ...commonFlags,
  ...podFlags,
  'host-claims': '',
  'leader-elect': 'true',
  'lease-seconds': '15',
  'status-listen': '0.0.0.0:9090',
  // A reconcile mostly waits for answers of the API.
  concurrency: '24',
  // Within the pod's own time to end of 30 s.
  'stop-seconds': '10',
};

async function start(): Promise<Running> {
  const flags = parseFlags(process.argv.slice(2), flagDefaults);
  const statusAddress = parseHostPort('status-listen', flags['status-listen']);
  const elects = parseChoice('leader-elect', flags['leader-elect'], ['true', 'false']) === 'true';
  const leaseSeconds = parseWhole('lease-seconds', flags['lease-seconds'], 1, 3_600);
  const hostClaims = parseHostClaims('host-claims', flags['host-claims']);
  const concurrency = parseWhole('concurrency', flags.concurrency, 1, 1_000);
  const stopGraceMs = parseWhole('stop-seconds', flags['stop-seconds'], 0, 3_600) * 1000;
  const pods = await readPodFlags(flags);
  const program = await openProgram('controller', flags, log);
  const leading = startLeading({
    ...program,
    namespace: program.homeNamespace,
    identity: `${program.podName}_${program.random.uuid()}`,
    leaseSeconds: elects ? leaseSeconds : undefined,
    async work(client, signal) {
      const settings = await settlePods(pods, program, {
        client,
        signal,
        resolve: resolveByMachine,
        onMoved: startAnew,
      });
      return manageCluster({ program, client, settings, hostClaims, concurrency, stopGraceMs, signal });
    },
    onFailed(message, error) {
      log.error(message, { error });
      process.exit(1);
    },
  });
  const status = await serveStatus(program, statusAddress, () =>
    leading.ready ? undefined : 'the caches have not synced yet',
  );
  const keepMemory = giveBackMemory(program);
  return {
    async close() {
      keepMemory();
      await leading.stop();
      status.close();
      await program.client.close();
    },
  };
}

/** Every pod's configuration names the address: the next leader writes them all again. Rare, so not worth a path of its own. */
function startAnew(what: string): void {
  log.warn('an address that pods are given is another now, the controller starts anew', { what });
  process.kill(process.pid, 'SIGTERM');
}

runUntilEnded(log, start, { parent: 'none' });
