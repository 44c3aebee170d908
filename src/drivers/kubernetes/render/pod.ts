import type { Pod, PodSpec } from '#api/cluster-kinds.ts';
import { agentServerImageAnnotation, specHashAnnotation } from '#api/labels.ts';
import type { OwnerReference } from '#api/meta.ts';
import type { Workload } from '../../workload.ts';
import { agentSecretName, podLabels } from '../names.ts';
import type { PodSettings } from '../settings.ts';
import { bundlePart } from './bundle.ts';
import { codePart } from './code.ts';
import { agentContainers, imageOf } from './containers.ts';
import { folderOf, folderPart } from './folders.ts';
import { gitPart } from './git.ts';
import { installPart } from './install.ts';
import { overlayOf } from './overlay.ts';
import { join, nothing, type Part, volumeNames } from './parts.ts';
import { podSecurity } from './security.ts';

/**
 * The pod of one replica. Pure: equal arguments give an equal pod. Passes Pod Security `restricted`, whatever the Agent
 * says. Throws TerminalError for what cannot be a pod.
 */
export function renderPod(
  workload: Workload,
  settings: PodSettings,
  place: { readonly slot: number; readonly name: string; readonly owner: OwnerReference },
): Pod {
  const overlay = overlayOf(workload, settings);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: place.name,
      namespace: workload.id.namespace,
      labels: { ...overlay.labels, ...podLabels(workload, place.slot) },
      annotations: {
        ...overlay.annotations,
        [specHashAnnotation]: workload.specHash,
        [agentServerImageAnnotation]: settings.bundleImage,
      },
      ownerReferences: [place.owner],
    },
    spec: renderSpec(workload, settings, place.slot, overlay),
  };
}

function renderSpec(
  workload: Workload,
  settings: PodSettings,
  slot: number,
  overlay: ReturnType<typeof overlayOf>,
): PodSpec {
  const setup = join([gitPart(workload, settings), installPart(workload, settings)]);
  const images = [imageOf(workload, settings), ...setup.init.map(({ image }) => image)];
  const parts = join([
    bundlePart(images, settings),
    configPart(workload),
    codePart(workload, settings),
    setup,
    setup.init.length === 0 ? nothing : setupFolder(settings),
    folderPart(workload, slot, settings),
  ]);
  const agent = agentContainers(workload, [...parts.mounts, ...overlay.mounts], settings);
  const init = [...parts.init, ...agent.init];
  return {
    restartPolicy: 'Always',
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    // Names are resolved by the egress proxy. A look-up that leads nowhere fails at once; one that is dropped hangs.
    dnsPolicy: 'None',
    dnsConfig: { nameservers: ['127.0.0.1'] },
    ...overlay.spec,
    securityContext: podSecurity(settings),
    ...(init.length === 0 ? {} : { initContainers: init }),
    containers: agent.containers,
    volumes: [...parts.volumes, ...overlay.volumes],
  };
}

/** The agent-server's configuration. Only the agent-server mounts it. */
function configPart({ id }: Workload): Part {
  const secret = {
    secretName: agentSecretName(id.name),
    items: [{ key: 'config.json', path: 'config.json' }],
    defaultMode: 0o440,
  };
  return { ...nothing, volumes: [{ name: volumeNames.config, secret }] };
}

function setupFolder(settings: PodSettings): Part {
  return { ...nothing, volumes: [{ name: volumeNames.setup, ...folderOf('dependencies', settings) }] };
}
