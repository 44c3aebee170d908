import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '#kit/clock.ts';
import { createClient } from '#kube/client.ts';
import { unixEndpoint } from '#kube/endpoint.ts';
import { openAuditLog } from '../cluster/audit-log.ts';
import { createNamespace, type Ground, home } from '../cluster/stage.ts';
import { cpuMicros } from '../harness/machine.ts';
import type { Scope, Started, StartOptions } from '../harness/scope.ts';

/** An API process of its own with a stand-in for nodes, and nothing in it yet. */
export interface OwnGround extends Ground {
  /** CPU seconds that the API has used. */
  apiSeconds(): number;
  stop(): Promise<void>;
}

/** `app` is the folder of the bundled programs. */
export async function openGround(scope: Scope, app: string): Promise<OwnGround> {
  const folder = makeFolder(scope);
  const socket = join(folder, 'api.sock');
  const api = await startAndHear(scope, 'api.ts', [folder]);
  const client = createClient({
    endpoint: unixEndpoint(socket),
    clock: systemClock,
    userAgent: 'ploinky-bench',
  });
  scope.defer(() => client.close());
  const node = await startAndHear(scope, 'node.ts', [socket, home]);
  const podDefaults = join(folder, 'pod-defaults.json');
  writeFileSync(podDefaults, '{}');
  const makeNamespace = (name: string) => createNamespace(client, name);
  await makeNamespace(home);
  return {
    client,
    home,
    app,
    podDefaults,
    audit: openAuditLog(join(folder, 'audit.jsonl')),
    account: writeAccount(folder),
    makeNamespace,
    apiSeconds: () => (cpuMicros(api.pid) ?? Number.NaN) / 1e6,
    async stop() {
      await client.close();
      await node.stop();
      await api.stop();
    },
  };
}

/** In memory, where that can be: how fast a disk takes what the API writes is not what is measured. */
function makeFolder(scope: Scope): string {
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : scope.folder, 'pb-'));
  scope.defer(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** What a pod finds in its service account, made of the API's own identity. */
function writeAccount(folder: string): Ground['account'] {
  const { cert, token, port } = JSON.parse(readFileSync(join(folder, 'data/tls.json'), 'utf8'));
  const account = join(folder, 'service-account');
  mkdirSync(account, { mode: 0o700 });
  writeFileSync(join(account, 'token'), token, { mode: 0o600 });
  writeFileSync(join(account, 'ca.crt'), cert);
  return { host: '127.0.0.1', port: String(port), folder: account };
}

async function startAndHear(scope: Scope, program: string, args: readonly string[]): Promise<Started> {
  const options: StartOptions = { ipc: true };
  const started = scope.start(join(import.meta.dirname, program), args, options);
  await Promise.race([
    once(started.process, 'message'),
    once(started.process, 'exit').then(() => {
      throw new Error(`${program} ended`);
    }),
  ]);
  return started;
}
