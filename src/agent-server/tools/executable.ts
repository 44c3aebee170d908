import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import type { CommandLine } from '../config/mcp-config.ts';

export interface Executable {
  readonly file: string;
  readonly args: readonly string[];
}

/**
 * How to start a `command`:
 * - a list is a program and its arguments;
 * - text that names an executable file (relative: below the code folder) is that file;
 * - other text with white space is a line for /bin/sh; `args` are its "$@", added at the end of a line that
 *   names no argument itself;
 * - a bare name that is no file of the code folder is looked for on the PATH.
 * A name found nowhere stays below the code folder, so that the failure tells that path.
 * Arguments are never pasted into a shell line.
 */
export function resolveExecutable(
  command: CommandLine,
  args: readonly string[],
  codeFolder: string,
  path: string,
): Executable {
  if (typeof command !== 'string') {
    const [file = '', ...first] = command;
    return { file: findProgram(file, codeFolder, path), args: [...first, ...args] };
  }
  if (/\s/.test(command) && !isExecutableFile(resolve(codeFolder, command))) {
    const line = args.length > 0 && !namesArguments.test(command) ? `${command} "$@"` : command;
    return { file: '/bin/sh', args: ['-c', line, 'sh', ...args] };
  }
  return { file: findProgram(command, codeFolder, path), args };
}

/** `$1`, `$@`, `${1}`… */
const namesArguments = /\$\{?[@*1-9]/;

function findProgram(name: string, codeFolder: string, path: string): string {
  if (isAbsolute(name)) return name;
  const own = join(codeFolder, name);
  if (name.includes('/') || isExecutableFile(own)) return own;
  const folders = path.split(delimiter).filter((folder) => isAbsolute(folder));
  return folders.map((folder) => join(folder, name)).find(isExecutableFile) ?? own;
}

function isExecutableFile(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
