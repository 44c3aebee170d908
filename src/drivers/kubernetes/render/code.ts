import type { KeyToPath, Volume, VolumeMount } from '#api/cluster-kinds.ts';
import type { ConfigMap } from '#api/meta.ts';
import { sha256Hex } from '#kit/digest.ts';
import { driverError } from '../../errors.ts';
import type { CodeSource, Workload } from '../../workload.ts';
import { codeConfigMapName } from '../names.ts';
import type { PodSettings } from '../settings.ts';
import { folderOf } from './folders.ts';
import { nothing, type Part, paths, volumeNames } from './parts.ts';

/** A ConfigMap holds 1 MiB; what it is made of besides the files has to fit as well. */
const maxInlineBytes = 900 * 1024;

/** A ConfigMap knows no modes: any of its files may be a program. */
const defaultMode = 0o555;

/** /code, read-only whatever it comes from. Without a source an empty folder. Throws TerminalError. */
export function codePart(workload: Workload, settings: PodSettings): Part {
  const { volume, mount } = codeVolume(workload, settings);
  return { ...nothing, volumes: [{ name: volumeNames.code, ...volume }], mounts: [mount] };
}

/** The mount of /code in any container. */
export function codeMount(code: CodeSource | undefined): VolumeMount {
  const subPath = subPathOf(code);
  return {
    name: volumeNames.code,
    mountPath: paths.code,
    readOnly: true,
    ...(subPath === undefined ? {} : { subPath }),
  };
}

function codeVolume(
  { id, code }: Workload,
  settings: PodSettings,
): { volume: Omit<Volume, 'name'>; mount: VolumeMount } {
  const mount = codeMount(code);
  switch (code?.type) {
    case undefined:
    case 'git':
      return { volume: folderOf('code', settings), mount };
    case 'inline': {
      const name = codeConfigMapName(id.name, inlineData(code) ?? {});
      return { volume: { configMap: { name, items: inlineItems(code.files), defaultMode } }, mount };
    }
    case 'configMap':
      return { volume: { configMap: { name: code.name, defaultMode } }, mount };
    case 'pvc':
      return { volume: { persistentVolumeClaim: { claimName: code.claimName } }, mount };
    case 'image':
      return { volume: imageVolume(code.reference, settings), mount };
    case 'path':
      throw driverError('CodeSource', 'spec.code.path: a pod has no folder of your machine.', undefined);
  }
}

function subPathOf(code: CodeSource | undefined): string | undefined {
  if (code?.type === 'git' || code?.type === 'pvc') return code.path;
  if (code?.type !== 'image') return undefined;
  const path = code.path?.split('/').filter((step) => step !== '' && step !== '.') ?? [];
  if (path.includes('..')) throw driverError('CodeSource', 'spec.code.image.path: ".." is not allowed.');
  return path.length === 0 ? undefined : path.join('/');
}

function imageVolume(reference: string, { bundle, defaults }: PodSettings): Omit<Volume, 'name'> {
  if (bundle !== 'ImageVolume') {
    const message =
      'spec.code.image needs image volumes, which this cluster does not have (Kubernetes 1.35 and later do).';
    throw driverError('CodeSource', message);
  }
  const pullPolicy = defaults?.imagePullPolicy;
  return { image: { reference, ...(pullPolicy === undefined ? {} : { pullPolicy }) } };
}

/** The inline files as a ConfigMap's data; undefined for other sources. Throws TerminalError CodeTooLarge. */
export function inlineData(code: CodeSource | undefined): ConfigMap['data'] | undefined {
  if (code?.type !== 'inline') return undefined;
  const data: Record<string, string> = {};
  let bytes = 0;
  for (const [path, content] of Object.entries(code.files)) {
    data[inlineKey(path)] = content;
    bytes += Buffer.byteLength(content) + Buffer.byteLength(path);
  }
  if (bytes > maxInlineBytes) {
    const message = `spec.code.inline: the files have ${bytes} bytes; a ConfigMap takes at most ${maxInlineBytes}.`;
    throw driverError('CodeTooLarge', message);
  }
  return data;
}

function inlineItems(files: Readonly<Record<string, string>>): KeyToPath[] {
  return Object.keys(files)
    .sort()
    .map((path) => ({ key: inlineKey(path), path: plainPath(path) }));
}

/** Keys have no slashes: readable where the path allows it, a digest where it does not. */
function inlineKey(path: string): string {
  const isPlain =
    path.length <= 253 && /^[-_A-Za-z0-9][-._A-Za-z0-9]*$/.test(path) && !path.startsWith('file-');
  return isPlain ? path : `file-${sha256Hex(path).slice(0, 32)}`;
}

function plainPath(path: string): string {
  if (path.startsWith('..') || path.includes('\0')) {
    throw driverError('InlineName', `spec.code.inline: "${path}" cannot be a file name in a pod.`);
  }
  return path;
}
