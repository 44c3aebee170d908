import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { bundledPackages } from '../../scripts/build.ts';
import { bundlesProperty, makeSbom, shippedPackages } from '../../scripts/sbom/list.ts';

// What is shipped: that all of it is listed, that nothing of it runs when it is installed, and that none of it is known to
// be bad.

const root = join(import.meta.dirname, '../..');
const bounded = { timeout: 120_000 };
const bundles = bundledPackages();
const nameOf = (package_: string) => package_.slice(0, package_.lastIndexOf('@'));

test(
  'the list of what is shipped is whole, says what the bundles hold, and is the same each time',
  bounded,
  async () => {
    const [one, two] = [await makeSbom(await bundles), await makeSbom(await bundles)];
    assert.equal(JSON.stringify(one), JSON.stringify(two));
    assert.deepEqual(
      [one.bomFormat, one.specVersion, one.metadata.timestamp],
      ['CycloneDX', '1.5', undefined],
    );
    const listed = new Set(one.components.map(({ name, version }) => `${name}@${version}`));
    assert.deepEqual(
      [...shippedPackages().keys()].filter((package_) => !listed.has(package_)),
      [],
    );
    const bundled = new Map(
      one.components.flatMap(({ name, properties = [] }) =>
        properties.filter((property) => property.name === bundlesProperty).map(({ value }) => [name, value]),
      ),
    );
    assert.match(bundled.get('zod') ?? '', /agent-server\.mjs/);
    assert.match(bundled.get('commander') ?? '', /app\/ploinky\.mjs/);
    for (const tool of ['esbuild', 'typescript', '@biomejs/biome', 'fast-check'])
      assert.ok(!bundled.has(tool), tool);
  },
);

/** Their scripts do nothing that is needed, and the settings of this checkout keep them from running. */
const allowed = ['esbuild'];

test('nothing that is shipped runs a script when it is installed', async () => {
  const withScripts = [...shippedPackages()].filter(([, { hasInstallScript }]) => hasInstallScript === true);
  assert.deepEqual(
    withScripts.map(([package_]) => nameOf(package_)),
    allowed,
  );
  assert.match(readFileSync(join(root, '.npmrc'), 'utf8'), /^ignore-scripts=true$/m);
  const { components } = await makeSbom(await bundles);
  const inBundles = components.filter(({ properties = [] }) =>
    properties.some((property) => property.name === bundlesProperty),
  );
  assert.ok(!inBundles.some(({ name }) => allowed.includes(name)), 'and images have none of them');
});

/** Where attacks on programs like this one were possible, and the first version where they are not. */
const mended: Readonly<Record<string, string>> = {
  // CVE-2026-25536, CVE-2026-0621
  '@modelcontextprotocol/sdk': '1.26.0',
  // CVE-2025-6514
  'mcp-remote': '0.1.16',
};
/** Of which only versions under development may be there at all. */
const unshipped = ['@modelcontextprotocol/sdk', 'mcp-remote', 'jsonwebtoken'];

test('every package is above the versions with known attacks, also those for development', () => {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version?: string }>;
  };
  for (const [path, { version = '' }] of Object.entries(packages)) {
    const least = mended[path.split('node_modules/').at(-1) ?? ''];
    if (least !== undefined) assert.ok(compare(version, least) >= 0, `${path} ${version} < ${least}`);
  }
  const shipped = [...shippedPackages().keys()].map(nameOf);
  assert.deepEqual(
    shipped.filter((name) => unshipped.includes(name)),
    [],
  );
  // CVE-2021-22959 and what came after it in the HTTP parser.
  assert.ok(compare(process.versions.node, '24.0.0') >= 0);
});

function compare(left: string, right: string): number {
  const [a, b] = [left, right].map((version) => version.split('-')[0]?.split('.').map(Number) ?? []);
  for (const index of [0, 1, 2]) {
    const difference = (a?.[index] ?? 0) - (b?.[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

test('the registry knows of no high or critical fault in what is shipped', bounded, async (t) => {
  const npm = join(root, 'node_modules/npm/bin/npm-cli.js');
  const options = ['audit', '--omit=dev', '--package-lock-only', '--json', '--fetch-retries=0'];
  const { stdout } = await promisify(execFile)(process.execPath, [npm, ...options], {
    ...{ cwd: root, timeout: 60_000, maxBuffer: 64 * 1024 * 1024 },
  }).catch((error: { stdout?: string }) => ({ stdout: error.stdout ?? '' }));
  const { metadata } = (stdout === '' ? {} : JSON.parse(stdout)) as {
    metadata?: { vulnerabilities: { high: number; critical: number } };
  };
  if (metadata === undefined)
    return t.skip('the registry of this machine answers no audit: nothing was asked');
  const { high, critical } = metadata.vulnerabilities;
  assert.deepEqual([high, critical], [0, 0], stdout);
});
