import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const root = join(import.meta.dirname, '../..');

/** The parts of CycloneDX 1.5 that are looked at here. */
export interface Sbom {
  readonly bomFormat: string;
  readonly specVersion: string;
  serialNumber?: string;
  readonly metadata: { timestamp?: string; readonly component: { readonly 'bom-ref': string } };
  components: Component[];
  dependencies: { readonly ref: string; readonly dependsOn?: string[] }[];
}

export interface Component {
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly scope?: string;
  properties?: { readonly name: string; readonly value: string }[];
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
}

/** Property of a component: the bundles of the images that something of it is in. */
export const bundlesProperty = 'ploinky:bundles';

/**
 * What is shipped, as npm reads it from the lock file: all that an installation without the packages for development has, and
 * of each package which of the bundles (see `bundledPackages`) hold something of it. The same sources give the same bytes.
 */
export async function makeSbom(bundles: ReadonlyMap<string, readonly string[]>): Promise<Sbom> {
  const made = await npmSbom();
  const shipped = shippedPackages();
  // npm says the name of the folder.
  const component = { ...made.metadata.component, name: 'ploinky-operator' };
  delete made.metadata.timestamp;
  delete made.serialNumber;
  const components = made.components
    .filter(({ name, version }) => shipped.has(`${name}@${version}`))
    .map((one) => ({ ...one, properties: [...(one.properties ?? []), ...bundleProperty(one, bundles)] }))
    .sort((a, b) => order(a['bom-ref'], b['bom-ref']));
  const refs = new Set([...components.map((one) => one['bom-ref']), component['bom-ref']]);
  const dependencies = made.dependencies
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn = [] }) => ({
      ref,
      dependsOn: dependsOn.filter((one) => refs.has(one)).sort(order),
    }))
    .sort((a, b) => order(a.ref, b.ref));
  const sbom = { ...made, metadata: { ...made.metadata, component }, components, dependencies };
  return { ...sbom, serialNumber: `urn:uuid:${uuidOf(JSON.stringify(sbom))}` };
}

interface LockedPackage {
  readonly version?: string;
  readonly dev?: boolean;
  readonly hasInstallScript?: boolean;
}

/** Packages of the lock file that are not for development alone, by `name@version`. */
export function shippedPackages(): ReadonlyMap<string, LockedPackage> {
  const text = readFileSync(join(root, 'package-lock.json'), 'utf8');
  const { packages } = JSON.parse(text) as { packages: Record<string, LockedPackage> };
  const shipped = Object.entries(packages).filter(([path, { dev }]) => path !== '' && dev !== true);
  return new Map(
    shipped.map(([path, locked]) => [`${path.split('node_modules/').at(-1)}@${locked.version}`, locked]),
  );
}

/** Of everything: with `--omit dev` npm leaves out what a package for development needs as well. */
async function npmSbom(): Promise<Sbom> {
  const npm = join(root, 'node_modules/npm/bin/npm-cli.js');
  const options = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'];
  const { stdout } = await promisify(execFile)(process.execPath, [npm, ...options, '--loglevel', 'error'], {
    cwd: root,
    maxBuffer: 64 * 1024 * 1024,
  });
  return JSON.parse(stdout) as Sbom;
}

function bundleProperty(
  { name, version }: Component,
  bundles: ReadonlyMap<string, readonly string[]>,
): NonNullable<Component['properties']> {
  const within = [...bundles]
    .filter(([, packages]) => packages.includes(`${name}@${version}`))
    .map(([bundle]) => bundle);
  return within.length === 0 ? [] : [{ name: bundlesProperty, value: within.join(',') }];
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Of version 8: made of what the list says. */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex').split('');
  hex[12] = '8';
  hex[16] = '8';
  const at = hex.join('');
  return [at.slice(0, 8), at.slice(8, 12), at.slice(12, 16), at.slice(16, 20), at.slice(20, 32)].join('-');
}
