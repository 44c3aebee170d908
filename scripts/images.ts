import { parseArgs } from 'node:util';
import { ensureImages, type With } from './images/ensure.ts';
import { type ImageName, imageNames } from './images/recipes.ts';
import { describeSizes, measureImage } from './images/sizes.ts';

// Builds images into archives that clusters can load, and prints their sizes:
//   bin/dev images [--with buildah|docker|podman] [NAME…]

const { values, positionals } = parseArgs({
  options: { with: { type: 'string', default: 'buildah' } },
  allowPositionals: true,
});
const programs: readonly string[] = ['buildah', 'docker', 'podman'];
const unknown = positionals.filter((name) => !(imageNames as readonly string[]).includes(name));
if (!programs.includes(values.with) || unknown.length > 0) {
  console.error(`usage: images.ts [--with ${programs.join('|')}] [${imageNames.join(' ')}]`);
  process.exit(2);
}

const names = positionals.length === 0 ? imageNames : (positionals as ImageName[]);
const ensured = await ensureImages(names, console.log, { with: values.with as With });
if ('missing' in ensured) {
  console.error(`Images cannot be built: ${ensured.missing}`);
  process.exit(1);
}
const { archives, baseLayers } = ensured;
for (const [name, archive] of Object.entries(archives)) console.log(`${name}: ${archive}`);
const sizes = names.map((name) => measureImage(name, archives[name] ?? '', baseLayers[name]));
for (const line of describeSizes(await Promise.all(sizes))) console.log(line);
