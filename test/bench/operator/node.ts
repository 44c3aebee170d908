/**
 * Stands in for scheduler, kubelet and the programs in pods: what is created runs as soon as its agent-server listens,
 * which is at an address of the loopback network of its own and has the port that every pod's has. It is Ready a
 * moment later: no kubelet probes sooner.
 *   node.ts API_SOCKET HOME_NAMESPACE
 */
import { type ContainerStatus, type Pod, podResource } from '#api/cluster-kinds.ts';
import { agentLabel, agentUidLabel } from '#api/labels.ts';
import type { Secret } from '#api/meta.ts';
import { secretResource } from '#api/resources.ts';
import { mcpPort } from '#drivers/kubernetes/render/parts.ts';
import { systemClock } from '#kit/clock.ts';
import { silentLog } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';
import { createClient } from '#kube/client.ts';
import { unixEndpoint } from '#kube/endpoint.ts';
import { createInformer } from '#kube/informer.ts';
import {
  deriveAgentKey,
  type MasterKey,
  masterKeysFromSecret,
  masterSecretName,
  principalOf,
} from '#wire/keys.ts';
import { serveAgent } from '../scale/serve-agent.ts';

const [socket = '', home = ''] = process.argv.slice(2);
const common = { clock: systemClock, random: systemRandom, log: silentLog };
const client = createClient({ endpoint: unixEndpoint(socket), clock: systemClock, userAgent: 'node' });
let master: Promise<MasterKey> | undefined;
let served = 0;

async function readMaster(): Promise<MasterKey> {
  const secret = await client.get<Secret>(secretResource, { namespace: home, name: masterSecretName });
  const [key] = masterKeysFromSecret(secret);
  if (key === undefined) throw new Error('there is no master key');
  return key;
}

/** Every address of 127.0.0.0/8 is the machine's own. */
function addressOf(index: number): string {
  return `127.${64 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`;
}

async function run(pod: Pod): Promise<void> {
  const { name, namespace = '', uid = '', labels = {} } = pod.metadata;
  const agent = { namespace, name: labels[agentLabel] ?? '', uid: labels[agentUidLabel] ?? '' };
  master ??= readMaster();
  const key = deriveAgentKey(await master, agent);
  const host = addressOf(served++);
  const principal = principalOf(namespace, agent.name);
  await serveAgent({ listen: { host, port: mcpPort }, instance: uid, principal, key });
  for (const isReady of [false, true]) {
    if (isReady) await systemClock.sleep(probeMs);
    const body = { status: runningStatus(pod, host, isReady) };
    await client.patch<Pod>(
      podResource,
      { namespace, name },
      { type: 'merge', body },
      { subresource: 'status', fieldManager: 'node' },
    );
  }
}

const probeMs = 500;
const conditionTypes = [
  'PodReadyToStartContainers',
  'Initialized',
  'Ready',
  'ContainersReady',
  'PodScheduled',
];

function runningStatus({ spec }: Pod, podIP: string, isReady: boolean): Pod['status'] {
  const startedAt = new Date().toISOString().replace(/\.\d+/, '');
  const statuses = (containers: readonly { readonly name: string }[] = []): ContainerStatus[] =>
    containers.map(({ name }) => ({
      name,
      ready: isReady,
      started: isReady,
      restartCount: 0,
      state: { running: { startedAt } },
    }));
  return {
    phase: 'Running',
    podIP,
    startTime: startedAt,
    conditions: conditionTypes.map((type) => ({
      type,
      status: isReady || !type.endsWith('Ready') ? 'True' : 'False',
      lastTransitionTime: startedAt,
    })),
    initContainerStatuses: statuses(spec.initContainers),
    containerStatuses: statuses(spec.containers),
  };
}

const pods = createInformer<Pod>({ ...common, client, resource: podResource });
pods.cache.subscribe(({ type, object }) => {
  if (type !== 'added') return;
  run(object).catch((error: unknown) => {
    console.error(error);
    process.exit(1);
  });
});
pods.start();
await pods.synced;
process.on('disconnect', () => process.exit(0));
process.send?.('ready');
