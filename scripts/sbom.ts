import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundledPackages } from './build.ts';
import { makeSbom } from './sbom/list.ts';

// Writes what is shipped to .out/sbom.json (CycloneDX 1.5), the same bytes for the same sources.

const folder = join(import.meta.dirname, '../.out');
const sbom = await makeSbom(await bundledPackages());
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, 'sbom.json'), `${JSON.stringify(sbom, undefined, 2)}\n`);
console.log(`.out/sbom.json: ${sbom.components.length} components`);
