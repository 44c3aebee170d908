import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KubeObject, Resource } from '#api/meta.ts';
import type { Faults } from '#apiserver/faults.ts';
import type { CustomResourceDefinition } from '#apiserver/kinds/custom.ts';
import type { Limits } from '#apiserver/limits.ts';
import { type ApiServer, startApiServer } from '#apiserver/start.ts';
import { systemClock } from '#kit/clock.ts';
import { silentLog } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';
import { type Client, createClient } from '#kube/client.ts';
import { unixEndpoint } from '#kube/endpoint.ts';

export interface Widget extends KubeObject {
  spec?: { size?: number; replicas?: number; color?: string };
  status?: { seen?: number; replicas?: number; conditions?: { type: string; status: string }[] };
}

export const widgets: Resource = {
  group: 'test.dev',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  namespaced: true,
};

const condition = {
  type: 'object',
  required: ['type', 'status'],
  properties: { type: { type: 'string' }, status: { type: 'string' } },
};

const definition: CustomResourceDefinition = {
  spec: {
    group: 'test.dev',
    scope: 'Namespaced',
    names: { kind: 'Widget', plural: 'widgets', singular: 'widget', listKind: 'WidgetList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: {
          status: {},
          scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
        },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: {
                  size: { type: 'integer', maximum: 1000 },
                  replicas: { type: 'integer' },
                  color: { type: 'string' },
                },
              },
              status: {
                type: 'object',
                properties: {
                  seen: { type: 'integer' },
                  replicas: { type: 'integer' },
                  conditions: {
                    type: 'array',
                    items: condition,
                    'x-kubernetes-list-type': 'map',
                    'x-kubernetes-list-map-keys': ['type'],
                  },
                },
              },
            },
          },
        },
      },
    ],
  },
};

export interface Embedded {
  readonly client: Client;
  readonly server: () => ApiServer;
  readonly socket: string;
  readonly kubeconfig: string;
  /** Ends the server and starts it on the same data. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** The embedded workspace API with a kind of the test's own, in a temporary folder, on the real clock. */
export async function startEmbedded(
  options: { readonly faults?: Faults; readonly limits?: Partial<Limits>; readonly tls?: boolean } = {},
): Promise<Embedded> {
  const folder = mkdtempSync(join(tmpdir(), 'kube-embedded-'));
  const socket = join(folder, 'api.sock');
  const kubeconfig = join(folder, 'kubeconfig');
  const start = () =>
    startApiServer({
      definitions: [definition],
      dataFolder: join(folder, 'data'),
      socket,
      clock: systemClock,
      random: systemRandom,
      log: silentLog,
      ...(options.limits && { limits: options.limits }),
      ...(options.faults && { faults: options.faults }),
      ...(options.tls && { tls: { port: 0, kubeconfig } }),
    });
  let server = await start();
  const client = createClient({ endpoint: unixEndpoint(socket), clock: systemClock, timeoutMs: 5_000 });
  return {
    client,
    socket,
    kubeconfig,
    server: () => server,
    async restart() {
      await server.close();
      server = await start();
    },
    async stop() {
      await client.close();
      await server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export function widget(name: string, spec: NonNullable<Widget['spec']> = {}): Widget {
  return { apiVersion: 'test.dev/v1', kind: 'Widget', metadata: { namespace: 'default', name }, spec };
}
