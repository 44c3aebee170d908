import { AgentServerError } from '../errors.ts';
import { type ListenTarget, parseHostPort } from '../http/listen.ts';

/** What the command line asks for. */
export type Invocation =
  | {
      readonly mode: 'spawner';
      readonly generation: string;
      /** Does without the reaper even where there is one. */
      readonly withoutReaper: boolean;
    }
  | PluginsInvocation
  | (ConfigPlace & {
      readonly mode: 'serve';
      readonly listen: ListenTarget;
      /** Takes the place of the configuration's `agent.instance`. */
      readonly instance: string | undefined;
      readonly withoutTokens: boolean;
      /** Everything that the agent runs has the environment of this process too: its image's. */
      readonly inImage: boolean;
    })
  | (ConfigPlace & { readonly mode: 'exec'; readonly command: readonly [string, ...string[]] })
  /** Puts what can be read of a damaged queue of tasks into a new one. */
  | { readonly mode: 'repair-queue'; readonly folder: string };

/** One call of a tool with `runner: plugins`; its envelope is on standard input. */
export interface PluginsInvocation {
  readonly mode: 'plugins';
  /** Folders of plugins, in the order in which they are registered. */
  readonly folders: readonly string[];
  /** `Plugin.method`. */
  readonly command: string;
  /** Members of the input that the method gets, by position; none: the input as a whole. */
  readonly fields: readonly string[];
}

/** Where the configuration is; one of the two. */
export interface ConfigPlace {
  readonly configFd: number | undefined;
  readonly configFile: string | undefined;
}

export const usage = `usage: agent-server (--config-fd N | --config-file PATH) [--instance UID[/SLOT]] [--listen-fd N | --listen HOST:PORT | --listen-socket PATH] [--in-image] [--no-tokens]
       agent-server exec (--config-fd N | --config-file PATH) -- COMMAND [ARGUMENT…]
       agent-server repair-queue --folder PATH

A configuration file is read again when it changes: new keys and forwards are taken up without a restart.
--instance names the workload where the configuration cannot: a pod's uid, and which replica it is.
--in-image gives tools the environment of the image that the agent-server was started in.
--listen defaults to 127.0.0.1:7000. --no-tokens asks callers for no token at all: for development only.
repair-queue saves what can be read of a damaged queue of tasks, .tasksQueue in an agent's workspace, while the agent
does not run; the damaged files are kept in a folder beside it.`;

/** Reads the arguments after the script's name. Throws Usage. */
export function parseArguments(args: readonly string[]): Invocation {
  const [first, second, ...rest] = args;
  if (first === 'spawner' && second !== undefined) return parseSpawner(args.slice(1));
  if (first === 'plugins' && second !== undefined) return parsePlugins(second, rest);
  if (first === 'exec') return parseExec(args.slice(1));
  if (first === 'repair-queue') return parseRepair(args.slice(1));
  const options = readOptions(args);
  if (options['folder'] !== undefined) throw wrong('only repair-queue has --folder');
  return {
    mode: 'serve',
    ...configPlace(options),
    listen: listenTarget(options),
    instance: options['instance'],
    withoutTokens: options['no-tokens'] !== undefined,
    inImage: options['in-image'] !== undefined,
  };
}

function parseSpawner(args: readonly string[]): Invocation {
  return {
    mode: 'spawner',
    generation: args.at(-1) ?? '',
    withoutReaper: args.slice(0, -1).includes('--without-reaper'),
  };
}

function parsePlugins(folders: string, [command, ...fields]: readonly string[]): Invocation {
  if (command === undefined) throw wrong('plugins needs folders and a command');
  return { mode: 'plugins', folders: folders.split(':'), command, fields };
}

function parseExec(args: readonly string[]): Invocation {
  const end = args.indexOf('--');
  const options = readOptions(args.slice(0, Math.max(0, end)));
  const [program, ...rest] = args.slice(end + 1);
  if (end === -1 || program === undefined) throw wrong('exec needs -- and a command');
  return { mode: 'exec', ...configPlace(options), command: [program, ...rest] };
}

function parseRepair(args: readonly string[]): Invocation {
  const { folder, ...others } = readOptions(args);
  const [other] = Object.keys(others);
  if (other !== undefined) throw wrong(`repair-queue has no --${other}`);
  if (folder === undefined) throw wrong('repair-queue needs --folder');
  return { mode: 'repair-queue', folder };
}

function configPlace({ 'config-fd': fd, 'config-file': file }: Record<string, string>): ConfigPlace {
  if ((fd === undefined) === (file === undefined)) throw wrong('give either --config-fd or --config-file');
  return { configFd: fd === undefined ? undefined : descriptor('--config-fd', fd), configFile: file };
}

const withValue = new Set([
  ...['config-fd', 'config-file', 'instance', 'listen-fd', 'listen', 'listen-socket'],
  'folder',
]);

function readOptions(args: readonly string[]): Record<string, string> {
  const options: Record<string, string> = {};
  for (let index = 0; index < args.length; index++) {
    const argument = args[index] ?? '';
    const [, name = '', value] = /^--([a-z-]+)(?:=(.*))?$/s.exec(argument) ?? [];
    if (name === 'no-tokens' || name === 'in-image') options[name] = 'true';
    else if (!withValue.has(name)) throw wrong(`unknown argument ${JSON.stringify(argument)}`);
    else {
      const given = value ?? args[++index];
      if (given === undefined) throw wrong(`--${name} needs a value`);
      options[name] = given;
    }
  }
  return options;
}

function listenTarget(options: Record<string, string>): ListenTarget {
  const { listen, 'listen-fd': fd, 'listen-socket': path } = options;
  const given = [listen, fd, path].filter((value) => value !== undefined);
  if (given.length > 1) throw wrong('give only one of --listen, --listen-fd and --listen-socket');
  if (fd !== undefined) return { type: 'fd', fd: descriptor('--listen-fd', fd) };
  if (path !== undefined) return { type: 'socket', path };
  return parseHostPort(listen ?? '127.0.0.1:7000');
}

function descriptor(name: string, text: string | undefined): number {
  if (text !== undefined && /^\d{1,4}$/.test(text)) return Number(text);
  throw wrong(`${name} must be the number of an open file descriptor`);
}

function wrong(problem: string): AgentServerError {
  return new AgentServerError('Usage', problem, { remedy: usage });
}
