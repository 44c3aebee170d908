import { customResourceDefinitions } from '#api/crd.ts';
import { type ApiServer, startApiServer } from '#apiserver/start.ts';
import { systemClock } from '#kit/clock.ts';
import { systemRandom } from '#kit/random.ts';
import { locateWorkspace } from '#workspace/host.ts';
import { createLog } from './log.ts';
import { parseFlags } from './options.ts';

/**
 * The workspace API of one workspace: `--workspace DIR [--port N]`. Ends when its standard input ends
 * (the watchdog holds the other side) and on SIGTERM or SIGINT.
 */
const log = createLog('apiserver');

async function run(): Promise<ApiServer> {
  const flags = parseFlags(process.argv.slice(2), { workspace: undefined, port: '0' });
  const paths = await locateWorkspace(flags.workspace, process.env);
  return await startApiServer({
    definitions: customResourceDefinitions(),
    dataFolder: paths.apiserverData,
    socket: paths.apiSocket,
    tls: { port: Number(flags.port), kubeconfig: paths.kubeconfig },
    clock: systemClock,
    random: systemRandom,
    log,
  });
}

function endWith(server: ApiServer): void {
  let ending = false;
  const end = (reason: string) => {
    if (ending) return;
    ending = true;
    log.info('ending', { reason });
    server.close().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error('ending failed', { error });
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', () => end('SIGTERM'));
  process.on('SIGINT', () => end('SIGINT'));
  process.stdin.on('end', () => end('standard input ended'));
  process.stdin.on('error', () => end('standard input failed'));
  process.stdin.resume();
}

run().then(endWith, (error: unknown) => {
  log.error('cannot start', { error });
  process.exit(1);
});
