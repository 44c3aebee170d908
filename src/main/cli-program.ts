import { access } from 'node:fs/promises';
import { join } from 'node:path';

/** How others start this program: the checkout's starter, else Node with the bundle of the image. */
export async function programOf(mainFolder: string, checkout: string): Promise<readonly string[]> {
  const starter = join(checkout, 'bin/ploinky');
  const isCheckout = await access(starter).then(
    () => true,
    () => false,
  );
  return isCheckout ? [starter] : [process.execPath, join(mainFolder, 'ploinky.mjs')];
}
