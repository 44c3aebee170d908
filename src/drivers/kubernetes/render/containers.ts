import type { Container, EnvVar, Probe, ResourceRequirements, VolumeMount } from '#api/cluster-kinds.ts';
import { slotLabel } from '#api/labels.ts';
import { standardEnvironment } from '../../shared/environment.ts';
import { instanceVariable } from '../../shared/instance-variable.ts';
import type { Workload } from '../../workload.ts';
import { agentSecretName } from '../names.ts';
import type { PodSettings } from '../settings.ts';
import { bundleMounts } from './bundle.ts';
import { literal, mcpPort, paths, volumeNames } from './parts.ts';
import { mainResources, sidecarResources } from './resources.ts';
import { containerSecurity } from './security.ts';
import { podView } from './view.ts';

/** The container that serves calls when the agent has a program of its own; else it is `agent` itself. */
export const sidecarName = 'agent-server';
export const mainName = 'agent';

/** For the agent-server itself. No argument: the bundle may be an earlier version's, which would not know it. */
const slotVariable = 'PLOINKY_SLOT';

/** Key of the agent's Secret that holds one variable of the agent's own program. */
export const environmentKey = (name: string) => `env.${name}`;

/** Image that the agent runs in. */
export function imageOf({ runtime }: Workload, { agentImage }: PodSettings): string {
  return runtime.image ?? agentImage;
}

/** The agent-server, alone or beside the agent's own program. */
export function agentContainers(
  workload: Workload,
  mounts: readonly VolumeMount[],
  settings: PodSettings,
): { readonly init: Container[]; readonly containers: Container[] } {
  if (!hasProgram(workload)) {
    const resources = mainResources(workload, settings);
    return { init: [], containers: [agentServer(workload, mainName, resources, mounts, settings)] };
  }
  const sidecar = agentServer(workload, sidecarName, sidecarResources(workload, settings), mounts, settings);
  return {
    init: [{ ...sidecar, restartPolicy: 'Always' }],
    containers: [ownProgram(workload, mounts, settings)],
  };
}

export function hasProgram({ agentServer: { command } }: Workload): boolean {
  return command !== undefined && command.length > 0;
}

function agentServer(
  workload: Workload,
  name: string,
  resources: ResourceRequirements,
  mounts: readonly VolumeMount[],
  settings: PodSettings,
): Container {
  const image = imageOf(workload, settings);
  const config = ['--config-file', `${paths.agentConfig}/config.json`];
  const instance = `$(${instanceVariable})`;
  const listen = ['--instance', instance, '--in-image', '--listen', `0.0.0.0:${mcpPort}`];
  return {
    ...common(name, image, resources, settings),
    command: [paths.node, paths.agentServer, ...config, ...listen],
    env: [
      { name: instanceVariable, valueFrom: { fieldRef: { fieldPath: 'metadata.uid' } } },
      { name: slotVariable, valueFrom: { fieldRef: { fieldPath: `metadata.labels['${slotLabel}']` } } },
    ],
    ports: [{ name: 'mcp', containerPort: mcpPort, protocol: 'TCP' }],
    volumeMounts: [
      ...bundleMounts(image, settings),
      ...mounts,
      { name: volumeNames.config, mountPath: paths.agentConfig, readOnly: true },
    ],
    // Asks for itself alone: waiting for the agent's own program, which starts after it, it would wait for ever.
    startupProbe: probe('/health', { periodSeconds: 1, timeoutSeconds: 5, failureThreshold: 120 }),
    readinessProbe: probe('/ready', { periodSeconds: 2, timeoutSeconds: 5, failureThreshold: 3 }),
    livenessProbe: probe('/health', { periodSeconds: 10, timeoutSeconds: 10, failureThreshold: 6 }),
  };
}

function probe(path: string, times: Omit<Probe, 'httpGet'>): Probe {
  return { httpGet: { path, port: 'mcp' }, ...times };
}

/** `spec.command`. Its environment has secrets, which no pod carries in clear: they come from the agent's Secret. */
function ownProgram(workload: Workload, mounts: readonly VolumeMount[], settings: PodSettings): Container {
  const image = imageOf(workload, settings);
  return {
    ...common(mainName, image, mainResources(workload, settings), settings),
    command: (workload.agentServer.command ?? []).map(literal),
    // A kubelet ends the program before the sidecar whose calls it answers: it is told when those have ended.
    lifecycle: { preStop: { httpGet: { path: '/drained', port: mcpPort } } },
    env: programEnvironment(workload, settings),
    volumeMounts: [...bundleMounts(image, settings), ...mounts],
  };
}

function programEnvironment(workload: Workload, settings: PodSettings): EnvVar[] {
  const own = Object.keys(workload.agentServer.env).sort();
  const standard = Object.entries(standardEnvironment(workload, podView(workload, settings)));
  const secret = agentSecretName(workload.id.name);
  return [
    { name: instanceVariable, valueFrom: { fieldRef: { fieldPath: 'metadata.uid' } } },
    ...standard
      .filter(([name]) => !own.includes(name) && !isTheImages(name, workload))
      .map(([name, value]) => ({ name, value: literal(value) })),
    ...own
      .filter((name) => name !== instanceVariable)
      .map((name) => ({
        name,
        valueFrom: { secretKeyRef: { name: secret, key: environmentKey(name) } },
      })),
  ];
}

/** The image says where its programs are, unless an install step adds to them. */
function isTheImages(name: string, { install }: Workload): boolean {
  return install === undefined && (name === 'PATH' || name === 'NODE_PATH');
}

function common(
  name: string,
  image: string,
  resources: ResourceRequirements,
  settings: PodSettings,
): Pick<
  Container,
  | 'name'
  | 'image'
  | 'imagePullPolicy'
  | 'workingDir'
  | 'resources'
  | 'securityContext'
  | 'terminationMessagePolicy'
> {
  const { imagePullPolicy } = settings.defaults ?? {};
  return {
    name,
    image,
    ...(imagePullPolicy === undefined ? {} : { imagePullPolicy }),
    workingDir: paths.code,
    resources,
    securityContext: containerSecurity(settings),
    // The last lines of its log are then in the pod's status when it ends with an error.
    terminationMessagePolicy: 'FallbackToLogsOnError',
  };
}
