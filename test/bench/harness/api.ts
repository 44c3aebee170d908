import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Agent } from '#api/agent.ts';
import type { Secret } from '#api/meta.ts';
import { agentResource, secretResource } from '#api/resources.ts';
import { systemClock } from '#kit/clock.ts';
import { type Client, createClient } from '#kube/client.ts';
import { unixEndpoint } from '#kube/endpoint.ts';
import {
  type AgentIdentity,
  deriveAgentKey,
  type MasterKey,
  masterKeysFromSecret,
  masterSecretName,
  type WireKey,
} from '#wire/keys.ts';
import { ensureWorkspace } from '#workspace/folders.ts';
import { hostFacts, locateWorkspace } from '#workspace/host.ts';
import type { WorkspacePaths } from '#workspace/paths.ts';
import { checkout, type Scope, type Started, type StartOptions, until } from './scope.ts';

/** A workspace with the product's own API process; the controller's part is played by the bench. */
export interface BenchApi {
  readonly paths: WorkspacePaths;
  readonly client: Client;
  readonly apiserver: Started;
  /** Starts another main file of the product on this workspace. */
  startMain(name: string, flags: readonly string[], options?: StartOptions): Started;
  /** As `startMain`, a program of the product that lies elsewhere. */
  startFile(file: string, flags: readonly string[], options?: StartOptions): Started;
  /** An Agent with its key; without endpoints until `publish`. */
  createAgent(name: string): Promise<{ agent: Agent; identity: AgentIdentity; key: WireKey }>;
  /** Says where the Agent's only instance answers, as the controller does when it is Ready. */
  publish(
    agent: Agent,
    endpoint: { readonly uid: string; readonly address: string; readonly digest?: string },
  ): Promise<void>;
}

export async function startApi(scope: Scope): Promise<BenchApi> {
  const root = join(scope.folder, 'ws');
  const runtime = join(scope.folder, 'rt');
  for (const folder of [root, runtime]) mkdirSync(folder, { mode: 0o700, recursive: true });
  const env = { XDG_RUNTIME_DIR: runtime };
  const paths = await locateWorkspace(root, env);
  await ensureWorkspace(paths, hostFacts(env).uid);
  const startFile = (file: string, flags: readonly string[], options: StartOptions = {}) =>
    scope.start(file, ['--workspace', root, ...flags], { ...options, env: { ...options.env, ...env } });
  const startMain = (name: string, flags: readonly string[], options?: StartOptions) =>
    startFile(join(checkout, `src/main/${name}.ts`), flags, options);
  const apiserver = startMain('apiserver', []);
  const client = createClient({ endpoint: unixEndpoint(paths.apiSocket), clock: systemClock });
  scope.defer(() => client.close());
  await until('the API answers', () => client.getText('/readyz'));
  const master = await createMaster(client);
  return {
    paths,
    client,
    apiserver,
    startMain,
    startFile,
    async createAgent(name) {
      const made = await client.create<Agent>(agentResource, {
        apiVersion: 'ploinky.dev/v1alpha1',
        kind: 'Agent',
        metadata: { name, namespace: 'default' },
        spec: {},
      } as Agent);
      const identity = { namespace: 'default', name, uid: made.metadata.uid ?? '' };
      return { agent: made, identity, key: deriveAgentKey(master, identity) };
    },
    async publish(agent, { uid, address, digest = 'sha256:bench' }) {
      const endpoint = { name: 'one', uid, address, terminating: false, ready: true };
      const status = { replicas: 1, toolsDigest: digest, endpoints: [endpoint] };
      await client.applyStatus<Agent>(agentResource, agent, status as NonNullable<Agent['status']>, {
        fieldManager: 'ploinky-controller',
      });
    },
  };
}

async function createMaster(client: Client): Promise<MasterKey> {
  const secret: Secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: masterSecretName, namespace: 'default' },
    data: { current: randomBytes(32).toString('base64') },
  };
  const [master] = masterKeysFromSecret(await client.create<Secret>(secretResource, secret));
  if (master === undefined) throw new Error('no master key');
  return master;
}
