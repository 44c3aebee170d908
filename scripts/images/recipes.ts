import { readdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { digestOf } from '#kit/digest.ts';
import { buildApp, buildProgram } from '../build.ts';
import type { Bases } from './bases.ts';
import type { Builder } from './builder.ts';
import { copyInto, withContext } from './context.ts';
import { exists } from './folders.ts';
import { runProgram } from './program.ts';

export interface BuildSite {
  readonly builder: Builder;
  readonly checkout: string;
  /** Outside the checkout. */
  readonly cache: string;
  /** Absent: the public ones that the Dockerfiles name, and programs bundled by them. */
  readonly bases?: Bases | undefined;
  readonly progress: (message: string) => void;
  /** Builds another image, once. */
  readonly build: (name: ImageName) => Promise<string>;
}

export const imageNames = ['controller', 'agent', 'examples', 'python', 'musl'] as const;
export type ImageName = (typeof imageNames)[number];

/** How an image is called in a cluster that tests use. */
export const tagOf = (name: ImageName) =>
  // The name that the files in examples/ give.
  name === 'examples' ? 'docker.io/ploinky/examples:0.1.0' : `localhost/ploinky/${name}:test`;

/** What an image adds to, by its tag in the builder's storage. */
export function baseOf(name: ImageName, bases: Bases | undefined): string {
  if (name === 'examples') return tagOf('agent');
  const own = { controller: 'node', agent: 'debian', python: 'python', musl: 'musl' } as const;
  return (bases ?? publicBases)[own[name]];
}

/** What the Dockerfiles name. */
const publicBases: Bases = {
  node: 'docker.io/library/node:24-bookworm-slim',
  debian: 'docker.io/library/debian:bookworm-slim',
  python: 'docker.io/library/python:3-slim-bookworm',
  musl: 'docker.io/library/alpine:3',
};

/** Builds an image under its name and returns its id. */
export const recipes: Readonly<Record<ImageName, (site: BuildSite) => Promise<string>>> = {
  controller: (site) => buildProduct(site, 'controller', 'Dockerfile'),
  agent: (site) => buildProduct(site, 'agent', 'agent-image/Dockerfile'),
  examples: buildExamples,
  python: (site) => buildFixture(site, 'python'),
  musl: (site) => buildFixture(site, 'musl'),
};

async function buildProduct(
  site: BuildSite,
  name: 'controller' | 'agent',
  dockerfile: string,
): Promise<string> {
  const { builder, checkout, cache, bases } = site;
  const tag = tagOf(name);
  const file = join(checkout, dockerfile);
  if (bases === undefined) return builder.build({ tag, file, context: checkout, args: {} });
  const args = name === 'controller' ? { BASE: bases.node } : { BASE: bases.debian, NODE: bases.node };
  return withContext(cache, async (context) => {
    const bundled = join(context, 'dist');
    if (name === 'controller') await buildApp(join(bundled, 'app'));
    else await buildProgram('agent-server', bundled);
    await copyInto(context, {
      LICENSE: join(checkout, 'LICENSE'),
      'agent-image': join(checkout, 'agent-image'),
    });
    return builder.build({ tag, file, context, args: { ...args, PREBUILT: '1' } });
  });
}

async function buildFixture(site: BuildSite, name: 'python' | 'musl'): Promise<string> {
  const context = join(site.checkout, 'test/images', name);
  const args = site.bases === undefined ? {} : { BASE: site.bases[name] };
  return site.builder.build({ tag: tagOf(name), file: join(context, 'Dockerfile'), context, args });
}

async function buildExamples(site: BuildSite): Promise<string> {
  await site.build('agent');
  const { builder, cache, checkout } = site;
  const deps = await ensureDeps(site);
  return withContext(cache, async (context) => {
    await copyInto(context, { 'deps.tar': deps });
    const file = join(checkout, 'test/images/examples/Dockerfile');
    return builder.build({ tag: tagOf('examples'), file, context, args: { AGENT: tagOf('agent') } });
  });
}

async function exampleFiles(checkout: string): Promise<string[]> {
  const names = await readdir(join(checkout, 'examples'));
  return names.filter((name) => name.endsWith('.yaml')).map((name) => join(checkout, 'examples', name));
}

interface Manifest {
  readonly spec?: { readonly lifecycle?: { readonly install?: readonly string[] } };
}

/** The packages that the examples' `lifecycle.install` name. */
async function examplePackages(checkout: string): Promise<string[]> {
  const files = await exampleFiles(checkout);
  const manifests = await Promise.all(files.map((file) => readFile(file, 'utf8')));
  const steps = manifests.map((text) => (parse(text) as Manifest).spec?.lifecycle?.install ?? []);
  const installs = steps.filter(([program, verb]) => program === 'npm' && verb === 'install');
  return installs.flatMap((step) => step.slice(2)).sort();
}

/** An archive of /deps with the examples' packages, installed once for each list of them. */
async function ensureDeps({ cache, checkout, progress }: BuildSite): Promise<string> {
  const packages = await examplePackages(checkout);
  const archive = join(cache, `deps-${digestOf(packages)}.tar`);
  if (await exists(archive)) return archive;
  progress(`Installing ${packages.join(', ')}…`);
  const npm = join(checkout, 'node_modules/npm/bin/npm-cli.js');
  await withContext(cache, async (draft) => {
    const options = ['--prefix', join(draft, 'deps'), '--no-audit', '--no-fund', '--loglevel=error'];
    await runProgram(process.execPath, [npm, 'install', ...options, ...packages]);
    const packed = join(draft, 'deps.tar');
    await runProgram('tar', ['-C', draft, '--owner=0', '--group=0', '--sort=name', '-cf', packed, 'deps']);
    await rename(packed, archive);
  });
  return archive;
}
