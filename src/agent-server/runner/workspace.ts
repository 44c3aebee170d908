import { PluginError } from './errors.ts';
import type { PluginModule } from './import-plugins.ts';
import type { PluginCall } from './plugin-call.ts';

export interface PluginWorkspaceOptions {
  /** In the order in which they are registered. */
  readonly modules: readonly PluginModule[];
  /** Where the agent may write. */
  readonly folder: string;
  readonly call: PluginCall;
  /** Writes one object to descriptor 3. */
  readonly report: (line: object) => void;
}

/** What plugins see of the process that they are in: it serves one call and ends. */
export interface PluginWorkspace {
  /** The agent's writable folder. */
  readonly folder: string;
  /** Who calls; undefined for a call without a user. */
  readonly user: PluginCall['user'];
  readonly taskId: string | undefined;
  /** Names of the plugins, in the order of registration. */
  readonly plugins: readonly string[];
  /** The instance of a plugin that is registered already. Throws InvalidPlugin. */
  loadPlugin(name: string): Record<string, unknown>;
  /** How far the call is, for its client. */
  progress(progress: number, total?: number, message?: string): void;
  /** Makes every instance. Once. */
  registerPlugins(): Promise<void>;
  /** `forceSave` of every plugin that has one, the youngest first. */
  forceSave(): Promise<void>;
  /** `shutDown` of every plugin that has one, the youngest first; what one throws keeps none from it. Once. */
  shutDown(): Promise<void>;
}

export function createPluginWorkspace({
  modules,
  folder,
  call,
  report,
}: PluginWorkspaceOptions): PluginWorkspace {
  const instances = new Map<string, Record<string, unknown>>();
  let ending: Promise<void> | undefined;

  const workspace: PluginWorkspace = {
    folder,
    user: call.user,
    taskId: call.taskId,
    plugins: modules.map(({ name }) => name),
    loadPlugin(name) {
      const instance = instances.get(name);
      if (instance !== undefined) return instance;
      throw new PluginError('InvalidPlugin', `the plugin ${name} is not registered (yet)`, {
        remedy: 'A plugin that needs another one names it in getDependencies().',
      });
    },
    progress: (progress, total, message) =>
      report({ progress, ...(total !== undefined && { total }), ...(message !== undefined && { message }) }),
    async registerPlugins() {
      for (const { name, getInstance } of modules) {
        const instance: unknown = await getInstance(workspace);
        if (typeof instance !== 'object' || instance === null)
          throw new PluginError('InvalidPlugin', `getInstance of the plugin ${name} returned no object`);
        instances.set(name, instance as Record<string, unknown>);
      }
    },
    async forceSave() {
      for (const instance of youngestFirst()) await callIfThere(instance, 'forceSave');
    },
    shutDown() {
      ending ??= shutDownAll();
      return ending;
    },
  };
  async function shutDownAll(): Promise<void> {
    const failures: unknown[] = [];
    for (const instance of youngestFirst())
      await callIfThere(instance, 'shutDown').catch((error: unknown) => failures.push(error));
    if (failures.length > 0) throw failures[0];
  }
  const youngestFirst = () => [...instances.values()].reverse();
  return workspace;
}

async function callIfThere(instance: Record<string, unknown>, name: string): Promise<void> {
  const method = instance[name];
  if (typeof method === 'function') await method.call(instance);
}
