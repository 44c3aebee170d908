import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tagOf } from '../../../scripts/images/recipes.ts';
import type { Space } from './product.ts';

/** What a load did, as its program tells it. */
export interface LoadReport {
  readonly sent: number;
  readonly failed: number;
  /** Turns without a call, because too many hung. */
  readonly skipped: number;
  readonly seconds: number;
  /** Milliseconds. */
  readonly latency: Readonly<Record<'p50' | 'p99' | 'max', number>>;
  /** Calls that took more than a second, by kind, and some of them. */
  readonly slow: Readonly<Record<string, number>>;
  readonly slowest: readonly { readonly at: number; readonly took: number; readonly kind: string }[];
  readonly perKind: Readonly<Record<string, number>>;
  /** Calls by the name that answers give, which is their pod's. */
  readonly answeredBy: Readonly<Record<string, number>>;
  readonly failures: readonly { readonly at: number; readonly kind: string; readonly error: string }[];
}

export interface LoadPlan {
  readonly agent: string;
  readonly tool: string;
  readonly args?: Readonly<Record<string, unknown>>;
  /** Regular expression that answers match. */
  readonly expect: string;
  /** Calls a second. */
  readonly rate: number;
  /** Taken in turn. */
  readonly kinds: readonly ('health' | 'session' | 'initialize' | 'stateless')[];
}

export interface Load {
  /** Lets open calls end, and takes the pod away. */
  stop(): Promise<LoadReport>;
}

/** Begins to call an agent from a pod of the cluster, through the router's Service. Resolves when it is under way. */
export async function startLoad(space: Space, name: string, plan: LoadPlan): Promise<Load> {
  const program = await readFile(join(import.meta.dirname, 'load-program.mjs'), 'utf8');
  const host = `ploinky-router.${space.namespace}.svc`;
  const address = await space.kubectl('get', 'service', 'ploinky-router', '-o', 'jsonpath={.spec.clusterIP}');
  await space.apply(
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { 'load.mjs': program } },
    loadPod(name, JSON.stringify({ args: {}, ...plan, url: `http://${host}` }), { host, address }),
  );
  await space.kubectl('wait', '--for=condition=Ready', `pod/${name}`, '--timeout=90s');
  return {
    async stop() {
      await space.kubectl('exec', name, '--', '/bin/sh', '-c', 'kill -TERM 1');
      await space.kubectl(
        'wait',
        '--for=jsonpath={.status.phase}=Succeeded',
        `pod/${name}`,
        '--timeout=120s',
      );
      const said = await space.kubectl('logs', name);
      await space.kubectl('delete', 'pod', name, '--wait=false');
      return JSON.parse(said.trim().split('\n').at(-1) ?? '') as LoadReport;
    },
  };
}

function loadPod(name: string, plan: string, { host, address }: { host: string; address: string }): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      restartPolicy: 'Never',
      // Connections are what is tested: a name server that loses a question would hold up all of them.
      hostAliases: [{ ip: address, hostnames: [host] }],
      automountServiceAccountToken: false,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 10001,
        seccompProfile: { type: 'RuntimeDefault' },
      },
      containers: [
        {
          name: 'load',
          image: tagOf('agent'),
          imagePullPolicy: 'IfNotPresent',
          command: ['node', '/load/load.mjs'],
          env: [{ name: 'PLAN', value: plan }],
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
          volumeMounts: [{ name: 'load', mountPath: '/load' }],
          // The program makes the file when its sessions are open.
          readinessProbe: { exec: { command: ['test', '-e', '/tmp/ready'] }, periodSeconds: 1 },
        },
      ],
      volumes: [{ name: 'load', configMap: { name } }],
    },
  };
}
