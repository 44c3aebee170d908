import { runProgram } from './program.ts';

/** What an image archive says of its image; the names are the OCI image specification's. */
export interface ImageConfig {
  readonly User?: string;
  readonly Env?: readonly string[];
  readonly Entrypoint?: readonly string[] | null;
  readonly Cmd?: readonly string[] | null;
  readonly WorkingDir?: string;
  readonly Labels?: Readonly<Record<string, string>>;
  readonly Healthcheck?: unknown;
}

export interface Layer {
  /** Of the uncompressed layer: the same in every builder's storage. */
  readonly diffId: string;
  readonly files: readonly LayerFile[];
}

export interface LayerFile {
  readonly path: string;
  readonly bytes: number;
}

export interface Image {
  readonly config: ImageConfig;
  /** The base's first. */
  readonly layers: readonly Layer[];
}

interface Descriptor {
  readonly digest: string;
}

/** Reads an archive that has an OCI layout in it, as ensureImages writes them. */
export async function readArchive(archive: string): Promise<Image> {
  const read = async (path: string) =>
    JSON.parse(await runProgram('tar', ['-xOf', archive, path])) as unknown;
  const { manifests } = (await read('index.json')) as { manifests: readonly Descriptor[] };
  const manifest = (await read(blobOf(manifests[0]))) as {
    config: Descriptor;
    layers: readonly Descriptor[];
  };
  const image = (await read(blobOf(manifest.config))) as {
    config: ImageConfig;
    rootfs: { diff_ids: readonly string[] };
  };
  const layers: Layer[] = [];
  for (const [index, layer] of manifest.layers.entries()) {
    layers.push({
      diffId: image.rootfs.diff_ids[index] ?? '',
      files: await listLayer(archive, blobOf(layer)),
    });
  }
  return { config: image.config, layers };
}

/** Sum of the sizes of regular files, in bytes. */
export function bytesOf(layers: readonly Layer[]): number {
  return layers.flatMap(({ files }) => files).reduce((sum, { bytes }) => sum + bytes, 0);
}

function blobOf(descriptor: Descriptor | undefined): string {
  if (descriptor === undefined) throw new Error('the archive has no image');
  return `blobs/${descriptor.digest.replace(':', '/')}`;
}

async function listLayer(archive: string, blob: string): Promise<LayerFile[]> {
  // tar sees by itself whether its input is compressed only when that is a file.
  const script = 'tar -xOf "$0" "$1" | { gzip -dcf; } | tar -tv';
  const lines = (await runProgram('sh', ['-c', script, archive, blob])).split('\n');
  return lines.filter((line) => line.startsWith('-')).map(parseLine);
}

/** `-rw-r--r-- root/root 1234 2026-01-01 00:00 path` */
function parseLine(line: string): LayerFile {
  const [, , bytes, , , ...path] = line.split(/\s+/);
  return { path: path.join(' ').replace(/ link to .*/, ''), bytes: Number(bytes) };
}
