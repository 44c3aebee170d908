// Swaps a path between what may be served and a link to what may not, as fast as it can: swapper.mjs PATH GOOD BAD.
import { mkdirSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';

const [path, content, target] = process.argv.slice(2);
const isFolder = statSync(target).isDirectory();
process.stdout.write('began\n');
for (;;) {
  const [good, bad] = [`${path}.good`, `${path}.bad`];
  rmSync(good, { recursive: true, force: true });
  rmSync(bad, { force: true });
  if (isFolder) {
    mkdirSync(good);
    writeFileSync(`${good}/canary.txt`, content);
  } else writeFileSync(good, content);
  symlinkSync(target, bad);
  rmSync(path, { recursive: true, force: true });
  renameSync(good, path);
  for (let spin = 0; spin < 2000; spin++) Math.sqrt(spin);
  if (isFolder) rmSync(path, { recursive: true, force: true });
  renameSync(bad, path);
}
