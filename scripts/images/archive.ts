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
  /** Where it is in the archive, compressed or not. */
  readonly blob: string;
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

/** Archives are named by their image's id, so what was read of one stays true. */
const known = new Map<string, Promise<Image>>();

/** Reads an archive that has an OCI layout in it, as ensureImages writes them. */
export function readArchive(archive: string): Promise<Image> {
  const image = known.get(archive) ?? parseArchive(archive);
  known.set(archive, image);
  return image;
}

async function parseArchive(archive: string): Promise<Image> {
  const read = async (path: string) =>
    JSON.parse(await runProgram('tar', ['-xOf', archive, path])) as unknown;
  const manifest = await readManifest(read);
  const image = (await read(blobOf(manifest.config))) as {
    config: ImageConfig;
    rootfs: { diff_ids: readonly string[] };
  };
  const layers: Layer[] = [];
  for (const [index, layer] of manifest.layers.entries()) {
    const blob = blobOf(layer);
    layers.push({ diffId: image.rootfs.diff_ids[index] ?? '', blob, files: await listLayer(archive, blob) });
  }
  return { config: image.config, layers };
}

interface Manifest {
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
}

/** Some builders put an index of their own between the archive's index and the image. */
async function readManifest(read: (path: string) => Promise<unknown>): Promise<Manifest> {
  let found = (await read('index.json')) as Partial<Manifest> & { manifests?: readonly Descriptor[] };
  while (found.manifests !== undefined) found = (await read(blobOf(found.manifests[0]))) as typeof found;
  if (found.config === undefined || found.layers === undefined) throw new Error('the archive has no image');
  return { config: found.config, layers: found.layers };
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
