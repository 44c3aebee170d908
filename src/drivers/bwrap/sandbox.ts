import type { AgentView, RunFolders, Sandbox, SandboxRun } from '../host/sandbox.ts';
import type { Launch } from '../host/shim-plan.ts';
import { instanceVariable } from '../shared/instance-variable.ts';
import { renderBwrapArguments } from './arguments.ts';
import { type BwrapHost, checkBwrap } from './available.ts';
import { planMounts } from './mounts.ts';
import type { SandboxPlan, SandboxUser } from './plan.ts';
import { userIdOf } from './users.ts';

export interface BwrapOptions {
  readonly host: BwrapHost;
  /** The workspace's `.ploinky`: masked wherever a bound folder contains it. */
  readonly state: string;
  /** Names this workspace among all of the machine, so that user ids do not meet. */
  readonly workspaceId: string;
  readonly node: string;
  /** Files that appear in /Agent, by name; `agent-server.mjs` is one. */
  readonly agentFiles: Readonly<Record<string, string>>;
  /** The npm package's folder, for install steps. */
  readonly npm: string | undefined;
}

const descriptors = { options: 3, seccomp: 4, info: 5, config: 6, listener: 7 };

/** Runs agents under bubblewrap: every namespace of their own, a read-only system, no way out but two sockets. */
export function createBwrapSandbox(options: BwrapOptions): Sandbox {
  const isRoot = options.host.uid === 0;
  return {
    name: 'bwrap',
    available: () => checkBwrap(options.host),
    userOf(subject) {
      if (!isRoot) return undefined;
      const uid = userIdOf(options.workspaceId, subject);
      return { uid, gid: uid };
    },
    view: viewOf,
    launch: (run) => launch(run, options),
  };
}

/** The names of the Ploinky contract. */
function viewOf(folders: RunFolders): AgentView {
  const deps = folders.deps === undefined ? [] : ['/deps/node_modules/.bin', '/deps/python/bin', '/deps/bin'];
  const system = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
  return {
    code: '/code',
    workspace: '/workspace',
    deps: folders.deps === undefined ? undefined : '/deps',
    temporary: '/tmp',
    node: '/Agent/bin/node',
    exits: { router: 'unix:/run/ploinky/router.sock', egress: 'unix:/run/ploinky/egress.sock' },
    routerUrl: 'http://127.0.0.1:8080',
    agentServer: '/Agent/agent-server.mjs',
    path: [...deps, '/Agent/bin', system].join(':'),
    runtime: 'bwrap',
    port: 7001,
  };
}

function launch(run: SandboxRun, options: BwrapOptions): Launch {
  const plan: SandboxPlan = {
    hostname: run.workload.id.name,
    user: userOf(run, options.host),
    mounts: planMounts(run, options),
    environment: run.environment,
    cwd: run.kind === 'install' ? '/deps' : '/code',
    command: commandOf(run),
  };
  const rendered = renderBwrapArguments(plan, descriptors);
  const inputs: Launch['descriptors'] = [
    { type: 'data', text: `${rendered.options.join('\0')}\0` },
    { type: 'file', path: options.host.seccompFilter },
    { type: 'info' },
    { type: 'data', text: run.config },
  ];
  return {
    file: options.host.bwrap,
    arguments: ['--args', String(descriptors.options), '--', ...rendered.command],
    // Marks bwrap's own processes, too: one that is left over is found by it.
    environment: pick(run.environment, instanceVariable),
    cwd: '/',
    descriptors: run.kind === 'agent' ? [...inputs, { type: 'listener' }] : inputs,
  };
}

function pick(environment: Readonly<Record<string, string>>, name: string): Record<string, string> {
  const value = environment[name];
  return value === undefined ? {} : { [name]: value };
}

function userOf(run: SandboxRun, host: BwrapHost): SandboxUser {
  if (run.user !== undefined) return { mode: 'switch', ...run.user, setpriv: host.setpriv };
  return { mode: 'namespace', uid: host.uid, gid: host.gid };
}

function commandOf(run: SandboxRun): string[] {
  const server = [run.view.node, run.view.agentServer];
  const config = ['--config-fd', String(descriptors.config)];
  if (run.kind === 'install') return [...server, 'exec', ...config, '--', ...run.command];
  return [...server, ...config, '--listen-fd', String(descriptors.listener)];
}
