import { access, constants, mkdir, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, isAbsolute, join, normalize } from 'node:path';
import { messageOf } from '#kit/errors.ts';
import { driverError } from '../errors.ts';
import type { CodeSource } from '../workload.ts';

export interface CodePlaces {
  readonly root: string;
  readonly state: string;
  /** Where inline files go. */
  readonly inline: string;
}

/** Parts of `.ploinky` that hold code of people, not state. */
const codeInState = ['repos', 'code'];

/**
 * The host folder for /code, free of symbolic links: the one the spec names, checked again (it may have
 * become a link since), or a private one with the inline files. Undefined without code.
 */
export async function prepareCode(
  source: CodeSource | undefined,
  places: CodePlaces,
  user: { readonly uid: number } | undefined,
): Promise<string | undefined> {
  if (source === undefined) return undefined;
  if (source.type === 'inline') return writeInlineFiles(source.files, places.inline);
  if (source.type !== 'path') {
    throw driverError('CodeFolder', `a sandbox of a host has no way to code from ${source.type}`);
  }
  const path = await realpath(source.path).catch((error: unknown) => {
    throw driverError('CodeFolder', `cannot use ${source.path} as code: ${messageOf(error)}`, error);
  });
  await checkCodeFolder(path, places, user);
  return path;
}

async function checkCodeFolder(
  path: string,
  places: CodePlaces,
  user: { readonly uid: number } | undefined,
): Promise<void> {
  if (!isInside(path, await realpath(places.root))) {
    throw driverError('CodeFolder', `${path} lies outside the workspace ${places.root}`);
  }
  const state = await realpath(places.state);
  if (isInside(path, state) && !codeInState.some((name) => isInside(path, join(state, name)))) {
    throw driverError('CodeFolder', `${path} lies in the private part of the workspace`);
  }
  const found = await stat(path);
  if (!found.isDirectory()) throw driverError('CodeFolder', `${path} is not a folder`);
  await access(path, constants.R_OK | constants.X_OK).catch((error: unknown) => {
    throw driverError('CodeUnreadable', `cannot read ${path}: ${messageOf(error)}`, error);
  });
  const readable = user === undefined || user.uid === found.uid || (found.mode & 0o005) === 0o005;
  if (!readable) throw driverError('CodeUnreadable', `${path} cannot be read by others than its owner`);
}

/** Writes the files anew: one that the spec no longer has is gone. As in a pod, any of them may be a program. */
async function writeInlineFiles(files: Readonly<Record<string, string>>, folder: string): Promise<string> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true, mode: 0o755 });
  for (const [name, text] of Object.entries(files)) {
    const path = join(folder, checkName(name));
    await mkdir(dirname(path), { recursive: true, mode: 0o755 });
    await writeFile(path, text, { mode: 0o755 });
  }
  return folder;
}

function checkName(name: string): string {
  const clean = normalize(name);
  const bad = name === '' || name.includes('\0') || isAbsolute(clean) || clean.split('/').includes('..');
  if (bad || clean === '.' || clean.endsWith('/')) {
    throw driverError('InlineName', `"${name}" in code.inline is not a relative file name`);
  }
  return clean;
}

function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}
