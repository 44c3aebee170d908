import type { Container, VolumeMount } from '#api/cluster-kinds.ts';
import type { PodSettings } from '../settings.ts';
import { nothing, type Part, paths, volumeNames } from './parts.ts';
import { containerSecurity } from './security.ts';

const copyTarget = '/bundle';
const copyScript = `require('node:fs').cpSync('${paths.agent}', '${copyTarget}', { recursive: true })`;

/** /Agent for the containers that run in `images`; nothing for those whose own image has it. */
export function bundlePart(images: readonly string[], settings: PodSettings): Part {
  if (images.every((image) => carriesBundle(image, settings))) return nothing;
  const { bundleImage: reference, bundle, defaults } = settings;
  const pullPolicy = defaults?.imagePullPolicy;
  if (bundle === 'ImageVolume') {
    const image = { reference, ...(pullPolicy === undefined ? {} : { pullPolicy }) };
    return { ...nothing, volumes: [{ name: volumeNames.bundle, image }] };
  }
  return {
    mounts: [],
    volumes: [{ name: volumeNames.bundle, emptyDir: { sizeLimit: '512Mi' } }],
    init: [copyContainer(settings)],
  };
}

/** The mount of /Agent in a container that runs in `image`. */
export function bundleMounts(image: string, settings: PodSettings): VolumeMount[] {
  if (carriesBundle(image, settings)) return [];
  const subPath = settings.bundle === 'ImageVolume' ? { subPath: 'Agent' } : {};
  return [{ name: volumeNames.bundle, mountPath: paths.agent, readOnly: true, ...subPath }];
}

function carriesBundle(image: string, { bundleImage }: PodSettings): boolean {
  return image === bundleImage;
}

function copyContainer(settings: PodSettings): Container {
  const { imagePullPolicy } = settings.defaults ?? {};
  return {
    name: 'bundle',
    image: settings.bundleImage,
    ...(imagePullPolicy === undefined ? {} : { imagePullPolicy }),
    command: [paths.node, '-e', copyScript],
    volumeMounts: [{ name: volumeNames.bundle, mountPath: copyTarget }],
    securityContext: containerSecurity(settings),
    terminationMessagePolicy: 'FallbackToLogsOnError',
  };
}
