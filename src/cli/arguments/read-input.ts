import { readFile } from 'node:fs/promises';
import { messageOf } from '#kit/errors.ts';
import { isObject } from '#kit/json.ts';
import type { Cli } from '../context.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import { parseJson } from '../tool-arguments.ts';

/**
 * The arguments that --input gives: a JSON object, a file as FILE or @FILE, or `-` for standard input. Throws `usage`
 * and `notFound`.
 */
export async function readInput(cli: Cli, source: string | undefined): Promise<Record<string, unknown>> {
  if (source === undefined) return {};
  const given = parseJson(await readSource(cli, source));
  if (isObject(given)) return given;
  throw new CliError(exitCodes.usage, '--input must be a JSON object, like {"name":"Ana"}');
}

async function readSource(cli: Cli, source: string): Promise<string> {
  if (source === '-') return cli.readStdin();
  if (/^\s*[[{"]/.test(source)) return source;
  const path = source.startsWith('@') ? source.slice(1) : source;
  return readFile(path, 'utf8').catch((error: unknown) => {
    throw new CliError(exitCodes.notFound, `--input ${source} cannot be read: ${messageOf(error)}`);
  });
}
