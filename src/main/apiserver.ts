import { customResourceDefinitions } from '#api/crd.ts';
import { startApiServer } from '#apiserver/start.ts';
import { systemClock } from '#kit/clock.ts';
import { systemRandom } from '#kit/random.ts';
import { locateWorkspace } from '#workspace/host.ts';
import { createLog } from './log.ts';
import { parseFlags } from './options.ts';
import { type Running, runUntilEnded } from './run.ts';

/** The workspace API of one workspace: `--workspace DIR [--port N]`. */
const log = createLog('apiserver');

async function start(): Promise<Running> {
  const flags = parseFlags(process.argv.slice(2), { workspace: undefined, port: '0' });
  const paths = await locateWorkspace(flags.workspace, process.env);
  return startApiServer({
    definitions: customResourceDefinitions(),
    dataFolder: paths.apiserverData,
    socket: paths.apiSocket,
    tls: { port: Number(flags.port), kubeconfig: paths.kubeconfig },
    clock: systemClock,
    random: systemRandom,
    log,
  });
}

runUntilEnded(log, start);
