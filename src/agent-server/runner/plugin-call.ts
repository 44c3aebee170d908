import { isObject } from '#kit/json.ts';
import { PluginError } from './errors.ts';
import type { Allow, PluginModule } from './import-plugins.ts';
import type { PluginWorkspace } from './workspace.ts';

/** What a plugin call takes of the envelope (Ploinky contract, §3). */
export interface PluginCall {
  readonly input: Record<string, unknown>;
  readonly taskId: string | undefined;
  readonly user: { readonly id?: string; readonly email?: string; readonly username?: string } | undefined;
}

export interface PluginOrder {
  readonly workspace: PluginWorkspace;
  readonly modules: readonly PluginModule[];
  readonly call: PluginCall;
  /** `Plugin.method`. */
  readonly command: string;
  /** Members of the input that the method gets, by position; none: the input as a whole. */
  readonly fields: readonly string[];
}

export function readCall(bytes: Buffer): PluginCall {
  const envelope = JSON.parse(bytes.toString('utf8')) as unknown;
  const { input, metadata, taskId } = isObject(envelope) ? envelope : {};
  const authInfo = isObject(metadata) ? metadata['authInfo'] : undefined;
  const user = isObject(authInfo) ? authInfo['user'] : undefined;
  return {
    input: isObject(input) ? input : {},
    taskId: typeof taskId === 'string' ? taskId : undefined,
    user: isObject(user) ? (user as PluginCall['user']) : undefined,
  };
}

/**
 * Registers the plugins, asks `allow`, runs the method, saves and shuts down: when it resolves, what the method
 * changed is kept. A method that throws leaves nothing to be saved; the plugins are shut down all the same.
 * Throws what the plugins throw, and UnknownCommand and NotAllowed.
 */
export async function callPlugin(order: PluginOrder): Promise<unknown> {
  const { workspace } = order;
  let result: unknown;
  try {
    await workspace.registerPlugins();
    result = await runMethod(order);
    await workspace.forceSave();
  } catch (error) {
    await workspace.shutDown().catch(() => undefined);
    throw error;
  }
  await workspace.shutDown();
  return result;
}

async function runMethod({ workspace, modules, call, command, fields }: PluginOrder): Promise<unknown> {
  const dot = command.indexOf('.');
  const [name, method] = [command.slice(0, dot), command.slice(dot + 1)];
  const module = modules.find((candidate) => candidate.name === name);
  if (module === undefined) throw unknown(command, `the plugins are ${workspace.plugins.join(', ')}`);
  const instance = workspace.loadPlugin(name);
  const run = method in Object.prototype ? undefined : instance[method];
  if (typeof run !== 'function') throw unknown(command, `the plugin has no method ${method}`);
  const args = fields.length === 0 ? [call.input] : fields.map((field) => call.input[field]);
  await consult(module.getAllow(), call, method, args);
  return await run.apply(instance, args);
}

async function consult(allow: Allow, { user }: PluginCall, method: string, args: readonly unknown[]) {
  if ((await allow(user?.id, user?.email ?? user?.username, method, ...args)) === true) return;
  const who = user?.username ?? user?.email ?? user?.id ?? 'A caller without a user';
  throw new PluginError('NotAllowed', `${who} may not call ${method}`);
}

function unknown(command: string, problem: string): PluginError {
  return new PluginError('UnknownCommand', `there is no command ${command}: ${problem}`, {
    remedy: 'command of a tool with `runner: plugins` is `Plugin.method`.',
  });
}
