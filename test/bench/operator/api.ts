/**
 * The API of the operator's bench: the workspace's API server, which is a process of its own here, with the kinds of a
 * cluster that the controller writes. What it does not check about them, it does not spend time on.
 *   api.ts FOLDER
 * Listens on FOLDER/api.sock and with TLS, whose identity is in FOLDER/data, and keeps FOLDER/audit.jsonl.
 */
import { join } from 'node:path';
import {
  networkPolicyResource,
  persistentVolumeClaimResource,
  podResource,
  storageClassResource,
} from '#api/cluster-kinds.ts';
import { customResourceDefinitions } from '#api/crd.ts';
import type { Resource } from '#api/meta.ts';
import type { CustomResourceDefinition } from '#apiserver/kinds/custom.ts';
import { startApiServer } from '#apiserver/start.ts';
import { systemClock } from '#kit/clock.ts';
import { silentLog } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';
import { keepAuditLog } from './keep-audit-log.ts';

const clusterKinds = [
  podResource,
  networkPolicyResource,
  persistentVolumeClaimResource,
  storageClassResource,
].map(looseDefinition);

/** Anything goes, as far as the schema is concerned; status is apart. */
function looseDefinition({ group, version, kind, plural, namespaced }: Resource): CustomResourceDefinition {
  const openAPIV3Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  return {
    spec: {
      group,
      scope: namespaced ? 'Namespaced' : 'Cluster',
      names: { kind, plural },
      versions: [{ name: version, schema: { openAPIV3Schema }, subresources: { status: {} } }],
    },
  };
}

const [folder = ''] = process.argv.slice(2);
const endAuditLog = keepAuditLog(join(folder, 'audit.jsonl'));
const server = await startApiServer({
  definitions: [...customResourceDefinitions(), ...clusterKinds],
  dataFolder: join(folder, 'data'),
  socket: join(folder, 'api.sock'),
  tls: { port: 0 },
  clock: systemClock,
  random: systemRandom,
  log: silentLog,
});
process.on('disconnect', async () => {
  await server.close();
  endAuditLog();
  process.exit(0);
});
process.send?.('listening');
