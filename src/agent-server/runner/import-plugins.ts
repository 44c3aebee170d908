import { readdir } from 'node:fs/promises';
import { join, parse } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isObject } from '#kit/json.ts';
import { PluginError } from './errors.ts';

/** Whether a user may call a method with these arguments; anything but `true` is a no. */
export type Allow = (
  userId: string | undefined,
  email: string | undefined,
  method: string,
  ...args: readonly unknown[]
) => unknown;

/** A module of a plugins folder. Its name is its file's without the ending. */
export interface PluginModule {
  readonly name: string;
  readonly getInstance: (workspace: unknown) => unknown;
  readonly getAllow: () => Allow;
  /** Names of plugins that are registered before it. */
  readonly dependencies: readonly string[];
}

const modulePattern = /^[^._].*\.(mjs|cjs|js)$/;

/**
 * Imports every module of the folders, in the order in which they must be registered: a plugin's dependencies before
 * it, else by folder and name. Files that begin with `_` or `.` are the plugins' own business.
 * Throws InvalidPlugin for one that exports no getInstance or getAllow, and for a name that appears twice.
 */
export async function importPlugins(folders: readonly string[]): Promise<readonly PluginModule[]> {
  const files = (await Promise.all(folders.map(listModules))).flat();
  const modules = await Promise.all(files.map(importPlugin));
  const byName = new Map<string, PluginModule>();
  for (const [index, module] of modules.entries()) {
    if (byName.has(module.name))
      throw invalid(files[index] ?? '', `a plugin ${module.name} is there already`);
    byName.set(module.name, module);
  }
  return inOrder(byName);
}

async function listModules(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    throw new PluginError('InvalidPlugin', `the plugins folder ${folder} cannot be read`, {
      cause: error,
      remedy: 'PLUGINS_FOLDER in the tool’s env names it, relative to /code. Default: plugins.',
    });
  });
  return names
    .filter((name) => modulePattern.test(name))
    .sort()
    .map((name) => join(folder, name));
}

async function importPlugin(file: string): Promise<PluginModule> {
  const loaded: unknown = await import(pathToFileURL(file).href);
  const whole = isObject(loaded) ? loaded : {};
  // CommonJS has its exports in `default`, also those that Node cannot tell from the text.
  const fallback = isObject(whole['default']) ? whole['default'] : {};
  const pick = (name: string): unknown => whole[name] ?? fallback[name];
  const [getInstance, getAllow] = [pick('getInstance'), pick('getAllow')];
  if (typeof getInstance !== 'function') throw invalid(file, 'getInstance is not exported');
  if (typeof getAllow !== 'function') throw invalid(file, 'getAllow is not exported');
  const getDependencies = pick('getDependencies');
  const dependencies: unknown = typeof getDependencies === 'function' ? getDependencies() : [];
  return {
    name: parse(file).name,
    getInstance: getInstance as PluginModule['getInstance'],
    getAllow: getAllow as PluginModule['getAllow'],
    dependencies: Array.isArray(dependencies) ? dependencies.map(String) : [],
  };
}

/** Depth first. Throws InvalidPlugin for a dependency that is not there or leads back. */
function inOrder(modules: ReadonlyMap<string, PluginModule>): PluginModule[] {
  const done = new Set<string>();
  const ordered: PluginModule[] = [];
  const visit = (name: string, path: readonly string[]) => {
    if (done.has(name)) return;
    const module = modules.get(name);
    if (module === undefined) throw invalid(path.at(-1) ?? name, `its dependency ${name} is not there`);
    if (path.includes(name)) throw invalid(name, `its dependencies lead back to it: ${path.join(', ')}`);
    for (const dependency of module.dependencies) visit(dependency, [...path, name]);
    done.add(name);
    ordered.push(module);
  };
  for (const name of modules.keys()) visit(name, []);
  return ordered;
}

function invalid(plugin: string, problem: string): PluginError {
  return new PluginError('InvalidPlugin', `plugin ${plugin}: ${problem}`, {
    remedy: 'A plugin exports getInstance() and getAllow(), and may export getDependencies().',
  });
}
