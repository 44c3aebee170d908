import { readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseEnv } from 'node:util';
import { isSecretName, storeAlias, storeValue } from '#api/secrets.ts';

/** The nearest `.env` from `folder` upwards that belongs to `uid` or to root: in /tmp anybody could put one. */
export async function findEnvFile(folder: string, uid: number): Promise<string | undefined> {
  for (let at = folder; ; at = dirname(at)) {
    const path = join(at, '.env');
    const found = await stat(path).catch(() => undefined);
    if (found?.isFile() === true && (found.uid === uid || found.uid === 0)) return path;
    if (dirname(at) === at) return undefined;
  }
}

/** Its variables; empty without a file. */
export async function readEnvFile(path: string | undefined): Promise<Readonly<Record<string, string>>> {
  if (path === undefined) return {};
  return named(await readFile(path, 'utf8').catch(() => ''));
}

/** What an import stores: values as themselves, `NAME=$OTHER` (not in single quotes) as an alias. */
export function readForImport(text: string): {
  readonly secrets: Readonly<Record<string, string>>;
  /** Names that no secret can have. */
  readonly wrong: readonly string[];
} {
  const aliases = new Map<string, string>();
  for (const match of text.matchAll(aliasLine)) aliases.set(match[1] ?? '', match[2] ?? '');
  const entries = Object.entries(parseEnv(text));
  return {
    secrets: Object.fromEntries(
      entries
        .filter(([name]) => isSecretName(name))
        .map(([name, value = '']) => {
          const alias = aliases.get(name);
          return [name, alias !== undefined && value === `$${alias}` ? storeAlias(alias) : storeValue(value)];
        }),
    ),
    wrong: entries.map(([name]) => name).filter((name) => !isSecretName(name)),
  };
}

const aliasLine = /^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)[ \t]*=[ \t]*"?\$([A-Za-z_]\w*)"?[ \t]*(?:#.*)?$/gm;

function named(text: string): Record<string, string> {
  const entries = Object.entries(parseEnv(text)).map(([name, value = '']) => [name, value] as const);
  return Object.fromEntries(entries.filter(([name]) => isSecretName(name)));
}
