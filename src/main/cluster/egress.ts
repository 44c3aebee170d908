import { followAgents } from '#egress/follow-agents.ts';
import { defaultLimits, startEgressProxy } from '#egress/proxy.ts';
import { createLog } from '../log.ts';
import { parseFlags, parseHostPort, parseLimits, parseWhole } from '../options.ts';
import { resolveByMachine } from '../resolve.ts';
import { type Running, runUntilEnded } from '../run.ts';
import { commonFlags, openProgram, serveStatus } from './program.ts';

/** The egress proxy of a cluster: it knows each pod by its credential and resolves the names itself. */
const log = createLog('egress');

const flagDefaults = {
  ...commonFlags,
  listen: '0.0.0.0:3128',
  'status-listen': '0.0.0.0:9090',
  // Within the pod's own time to end of 30 s.
  'drain-seconds': '5',
  'finish-seconds': '20',
  limits: '',
};

async function start(): Promise<Running> {
  const flags = parseFlags(process.argv.slice(2), flagDefaults);
  const listen = parseHostPort('listen', flags.listen);
  const statusAddress = parseHostPort('status-listen', flags['status-listen']);
  const lameDuckMs = parseWhole('drain-seconds', flags['drain-seconds'], 0, 3_600) * 1000;
  const finishMs = parseWhole('finish-seconds', flags['finish-seconds'], 0, 3_600) * 1000;
  const limits = parseLimits('limits', flags.limits, defaultLimits);
  const program = await openProgram('egress', flags, log);
  const following = followAgents(program);
  const proxy = await startEgressProxy({
    listen,
    lookup: following.lookup,
    resolve: resolveByMachine,
    log,
    limits,
  });
  let stopping = false;
  const status = await serveStatus(program, statusAddress, () => {
    if (stopping) return 'stopping';
    return following.ready ? undefined : 'the Agents and the master key are not known yet';
  });
  log.info('egress proxy listens', { address: proxy.address });
  return {
    async close() {
      stopping = true;
      await program.clock.sleep(lameDuckMs);
      await proxy.drain(finishMs);
      await proxy.close();
      status.close();
      await following.stop();
      await program.client.close();
    },
  };
}

runUntilEnded(log, start, { parent: 'none' });
