import { join } from 'node:path';
import { runProgram } from './program.ts';

export interface BuildRequest {
  readonly tag: string;
  readonly file: string;
  readonly context: string;
  readonly args: Readonly<Record<string, string>>;
}

/** A program that builds Dockerfiles. */
export interface Builder {
  /** Builds an image and returns its id; what is cached from a build before takes no time. */
  build(request: BuildRequest): Promise<string>;
  /** Digests of an image's uncompressed layers, the lowest first; undefined: it is not there. */
  layers(tag: string): Promise<readonly string[] | undefined>;
  /** Writes an image into a file that `ctr images import`, `kind load image-archive` and `docker load` read. */
  save(tag: string, archive: string): Promise<void>;
}

/** buildah, with its storage in a folder of its own, without user namespaces and without a daemon. */
export function buildahBuilder(cache: string): Builder {
  const storage = [
    '--root',
    join(cache, 'storage'),
    '--runroot',
    join(cache, 'run'),
    '--storage-driver',
    'overlay',
  ];
  const buildah = (...args: string[]) =>
    runProgram('buildah', [...storage, ...args], { env: { BUILDAH_ISOLATION: 'chroot' } });
  return {
    build: async (request) => lastLine(await buildah('bud', '--layers', '--quiet', ...buildArgs(request))),
    layers: (tag) =>
      buildah(
        'inspect',
        '--type',
        'image',
        '--format',
        '{{range .OCIv1.RootFS.DiffIDs}}{{println .}}{{end}}',
        tag,
      ).then(parseList, () => undefined),
    save: async (tag, archive) => {
      await buildah('push', '--quiet', tag, `oci-archive:${archive}:${tag}`);
    },
  };
}

/** docker or podman, whichever is named, on the storage that it has. */
export function daemonBuilder(program: 'docker' | 'podman'): Builder {
  const format = program === 'podman' ? ['--format', 'oci-archive'] : [];
  const inspect = (tag: string, what: string) =>
    runProgram(program, ['image', 'inspect', '--format', what, tag]);
  return {
    build: async (request) => {
      await runProgram(program, ['build', ...buildArgs(request)]);
      return (await inspect(request.tag, '{{.Id}}')).trim();
    },
    layers: (tag) =>
      inspect(tag, '{{range .RootFS.Layers}}{{println .}}{{end}}').then(parseList, () => undefined),
    save: async (tag, archive) => {
      await runProgram(program, ['save', ...format, '--output', archive, tag]);
    },
  };
}

function buildArgs({ tag, file, context, args }: BuildRequest): string[] {
  const values = Object.entries(args).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`]);
  return ['--tag', tag, '--file', file, ...values, context];
}

function lastLine(output: string): string {
  return output.trim().split('\n').at(-1) ?? '';
}

function parseList(output: string): readonly string[] {
  return output.split('\n').filter((line) => line !== '');
}
