import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { formatFieldErrors } from '#api/field-error.ts';
import { type KindName, kinds } from '#api/kinds.ts';
import type { KubeObject, Resource } from '#api/meta.ts';
import { validateObject } from '#api/validate.ts';
import { codeOf } from '#kit/errors.ts';
import { isObject } from '#kit/json.ts';
import { CliError } from './errors.ts';
import { exitCodes } from './exit-codes.ts';
import { kindOfObject } from './kinds.ts';

/** One object of a file, checked as far as that goes without the API. */
export interface Manifest {
  readonly resource: Resource;
  readonly object: KubeObject;
  /** Where it stands: `agent.yaml` or `all.yaml, document 2`. */
  readonly where: string;
}

/** `-f FOLDER` looks into the folder and those directly below: `agents` may hold `agents/hello/agent.yaml`. */
const folderDepth = 2;
const maxFileBytes = 4 * 1024 * 1024;

/**
 * The objects of a file, of the YAML files of a folder and the folders in it, or of standard input (`-`).
 * Throws `refused` naming file and field, or `notFound`.
 */
export async function readManifests(path: string, readStdin: () => Promise<string>): Promise<Manifest[]> {
  const found = path === '-' ? parseManifests(await readStdin(), 'standard input') : await readFiles(path);
  if (found.length > 0) return found;
  throw new CliError(exitCodes.refused, `there is no object in ${path === '-' ? 'standard input' : path}`);
}

async function readFiles(path: string): Promise<Manifest[]> {
  const files = await manifestFiles(path);
  const found = await Promise.all(files.map(readFileManifests));
  return found.flat();
}

async function manifestFiles(path: string): Promise<string[]> {
  const found = await stat(path).catch((error: unknown) => {
    if (codeOf(error) !== 'ENOENT') throw error;
    throw new CliError(exitCodes.notFound, `${path} does not exist`);
  });
  if (!found.isDirectory()) return [path];
  const files = await filesBelow(path, folderDepth);
  if (files.length > 0) return files;
  throw new CliError(exitCodes.notFound, `there is no YAML file in ${path}`);
}

async function filesBelow(folder: string, depth: number): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const sorted = entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  const files: string[] = [];
  for (const entry of sorted) {
    const path = join(folder, entry.name);
    const skipped = entry.name.startsWith('.') || entry.name === 'node_modules';
    if (entry.isDirectory() && depth > 1 && !skipped) files.push(...(await filesBelow(path, depth - 1)));
    if (entry.isFile() && /\.ya?ml$/.test(entry.name)) files.push(path);
  }
  return files;
}

async function readFileManifests(path: string): Promise<Manifest[]> {
  const { size } = await stat(path);
  if (size > maxFileBytes) throw new CliError(exitCodes.refused, `${path} is larger than 4 MiB`);
  return parseManifests(await readFile(path, 'utf8'), path);
}

/** The objects of a text in YAML (or JSON, which is YAML). Empty documents are skipped; Lists are opened. */
export function parseManifests(text: string, source: string): Manifest[] {
  const documents = [...parseAllDocuments(text)];
  return documents.flatMap((document, index) => {
    const where = documents.length === 1 ? source : `${source}, document ${index + 1}`;
    const [error] = document.errors;
    if (error !== undefined) throw new CliError(exitCodes.refused, `${where}: ${error.message}`);
    const value: unknown = document.toJS({ maxAliasCount: 100 });
    return value === null ? [] : toManifests(value, where);
  });
}

function toManifests(value: unknown, where: string): Manifest[] {
  if (!isObject(value)) throw new CliError(exitCodes.refused, `${where}: not a Kubernetes object`);
  const { apiVersion, kind, items, metadata } = value;
  if (kind === 'List' && Array.isArray(items)) {
    return items.flatMap((item, index) => toManifests(item, `${where}, item ${index + 1}`));
  }
  const resource = kindOfObject(apiVersion, kind, where);
  if (!isObject(metadata) || typeof metadata['name'] !== 'string' || metadata['name'] === '') {
    throw new CliError(exitCodes.refused, `${where}: metadata.name is missing`);
  }
  checkObject(resource, value, where);
  return [{ resource, object: value as unknown as KubeObject, where }];
}

/** The same validation as the API's, so that every mistake is named before anything is sent. */
function checkObject(resource: Resource, value: Record<string, unknown>, where: string): void {
  const kind = (Object.keys(kinds) as KindName[]).find((name) => name === resource.kind);
  const errors = kind === undefined ? [] : validateObject(kind, value);
  if (errors.length === 0) return;
  const lines = errors.map((error) => formatFieldErrors([error]));
  throw new CliError(exitCodes.refused, [`${where} is wrong:`, ...lines].join('\n  '));
}
