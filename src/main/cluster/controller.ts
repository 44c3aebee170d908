import { startManager } from '#controllers/manager.ts';
import type { Client } from '#kube/client.ts';
import { createLog } from '../log.ts';
import { parseChoice, parseFlags, parseHostClaims, parseHostPort, parseWhole } from '../options.ts';
import { type Running, runUntilEnded } from '../run.ts';
import { startLeading } from './leading.ts';
import { commonFlags, openProgram, type Program, serveStatus } from './program.ts';

/** The controller of a cluster. One of its replicas leads and reconciles; the others wait for the Lease. */
const log = createLog('controller');

const flagDefaults = {
  ...commonFlags,
  'agent-image': '',
  'bundle-image': '',
  bundle: 'Auto',
  'router-address': '',
  'egress-address': '',
  'storage-access-mode': 'Auto',
  'host-claims': '',
  'leader-elect': 'true',
  'lease-seconds': '15',
  'status-listen': '0.0.0.0:9090',
  'pod-defaults': '',
  'shared-claim': '',
};
type Flags = Record<keyof typeof flagDefaults, string>;

async function start(): Promise<Running> {
  const flags: Flags = parseFlags(process.argv.slice(2), flagDefaults);
  const statusAddress = parseHostPort('status-listen', flags['status-listen']);
  const elects = parseChoice('leader-elect', flags['leader-elect'], ['true', 'false']) === 'true';
  const leaseSeconds = parseWhole('lease-seconds', flags['lease-seconds'], 1, 3_600);
  const hostClaims = parseHostClaims('host-claims', flags['host-claims']);
  const program = await openProgram('controller', flags, log);
  const leading = startLeading({
    ...program,
    namespace: program.homeNamespace,
    identity: `${program.podName}_${program.random.uuid()}`,
    leaseSeconds: elects ? leaseSeconds : undefined,
    work: (client) => manage(program, client, hostClaims),
    onFailed(message, error) {
      log.error(message, { error });
      process.exit(1);
    },
  });
  const status = await serveStatus(program, statusAddress, () =>
    leading.ready ? undefined : 'the caches have not synced yet',
  );
  return {
    async close() {
      await leading.stop();
      status.close();
      await program.client.close();
    },
  };
}

function manage(program: Program, client: Client, hostClaims: Record<string, string[]>) {
  const { namespace, podName, ...common } = program;
  return startManager({
    ...common,
    client,
    drivers: [],
    host: { codeRoot: '/' },
    identity: podName,
    hostClaims,
    ...(namespace !== undefined && { namespace }),
  });
}

runUntilEnded(log, start, { parent: 'none' });
