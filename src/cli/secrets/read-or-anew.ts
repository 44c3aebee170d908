import { realpath } from 'node:fs/promises';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import type { KeptSecrets, SecretHome } from './home.ts';

/** What is imported. */
export interface Imported {
  readonly file: string;
  readonly text: string;
  /** Names that are left out. */
  readonly refused: readonly string[];
}

/**
 * What the home has. `anew`: its text, where it is the very file that is imported, in clear text, and is to be replaced
 * by what was taken of it. Throws SecretsPlain when another file is imported, and a refusal where taking would lose
 * something: then nobody has what was in it.
 */
export async function readOrAnew(
  home: Pick<SecretHome, 'read' | 'path'>,
  { file, text, refused }: Imported,
): Promise<{ readonly kept: KeptSecrets; readonly anew?: string }> {
  try {
    return { kept: await home.read() };
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'SecretsPlain') throw error;
    if (home.path === undefined || (await realpath(file)) !== (await realpath(home.path))) throw error;
    requireLossless(file, text, refused);
    return { kept: { secrets: {}, changed: {} }, anew: text };
  }
}

function requireLossless(file: string, text: string, refused: readonly string[]): void {
  const numbers = text.split(/\r?\n/).flatMap((line, index) => (isPlain(line) ? [] : [`line ${index + 1}`]));
  const lost = [...refused, ...numbers];
  if (lost.length === 0) return;
  throw new CliError(
    exitCodes.usage,
    `${file} would be replaced, and of this not all would be in the secrets: ${lost.join(', ')}`,
    'Nothing was changed. Move the file elsewhere and import it from there: names that no secret can have, quotes and what stands behind "#" are left out. Remove it when nothing is missing.',
  );
}

/** A line that means the same to everybody. */
function isPlain(line: string): boolean {
  return (
    /^\s*(#.*)?$/.test(line) ||
    /^\s*(export\s+)?[A-Za-z_]\w*=([^\s#'"`\\]([^#'"`\\]*[^\s#'"`\\])?)?$/.test(line)
  );
}
