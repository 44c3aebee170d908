import { open, stat } from 'node:fs/promises';
import { codeOf } from '#kit/errors.ts';
import { AgentServerError } from '../errors.ts';

/** A version of the configuration file; `stamp` changes whenever the file may have. */
export interface ConfigFile {
  readonly path: string;
  readonly stamp: string;
}

/** The first of the candidates that is a file, or undefined. */
export async function findConfigFile(candidates: readonly string[]): Promise<ConfigFile | undefined> {
  for (const path of candidates) {
    const found = await stat(path).catch(() => undefined);
    if (found?.isFile()) return { path, stamp: `${path}:${found.ino}:${found.size}:${found.mtimeMs}` };
  }
  return undefined;
}

/** The parsed content. Throws InvalidToolFile naming the path. */
export async function readConfigFile(path: string, maxBytes: number): Promise<unknown> {
  const text = await readBounded(path, maxBytes);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new AgentServerError('InvalidToolFile', `${path} is not JSON: ${(error as Error).message}`);
  }
}

async function readBounded(path: string, maxBytes: number): Promise<string> {
  try {
    const file = await open(path, 'r');
    try {
      const { size } = await file.stat();
      if (size > maxBytes) {
        throw new AgentServerError('InvalidToolFile', `${path} has ${size} bytes, more than ${maxBytes}`);
      }
      return await file.readFile('utf8');
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof AgentServerError) throw error;
    throw new AgentServerError('InvalidToolFile', `${path} cannot be read: ${codeOf(error) ?? error}`);
  }
}
