import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = join(import.meta.dirname, 'regressions');

/** Inputs that once failed. They are kept in the checkout and run with every test. */
export function regressionsOf(target: string): { readonly name: string; readonly input: Buffer }[] {
  const own = join(folder, target);
  if (!existsSync(own)) return [];
  return readdirSync(own)
    .sort()
    .map((name) => ({ name, input: readFileSync(join(own, name)) }));
}

/** Returns the path of the file. */
export function keepRegression(target: string, input: Buffer): string {
  const own = join(folder, target);
  mkdirSync(own, { recursive: true });
  const path = join(own, `${createHash('sha256').update(input).digest('hex').slice(0, 16)}.bin`);
  writeFileSync(path, input);
  return path;
}
