import type { SandboxRun } from '../host/sandbox.ts';
import type { MountOptions } from './mounts.ts';
import type { Mount, SandboxPlan } from './plan.ts';

/** Plans for tests. */
export function planOf(mounts: readonly Mount[], change: Partial<SandboxPlan> = {}): SandboxPlan {
  return {
    hostname: 'demo',
    user: { mode: 'namespace', uid: 1000, gid: 1000 },
    mounts,
    environment: { PATH: '/usr/bin' },
    cwd: '/code',
    command: ['/Agent/bin/node', '/Agent/agent-server.mjs'],
    ...change,
  };
}

export const mountOptions: MountOptions = {
  host: { system: { folders: ['/usr'], links: [['/bin', 'usr/bin']] } },
  state: '/home/me/project/.ploinky',
  node: '/opt/node/bin/node',
  agentFiles: { 'agent-server.mjs': '/opt/ploinky/dist/agent-server.mjs' },
  npm: '/opt/ploinky/node_modules/npm',
};

/** A run with all its folders in the workspace `/home/me/project`. */
export function runOf(
  folders: Partial<SandboxRun['folders']> = {},
  kind: SandboxRun['kind'] = 'agent',
): SandboxRun {
  const state = '/home/me/project/.ploinky';
  const id = { namespace: 'default', name: 'demo', uid: 'u' };
  return {
    kind,
    workload: {
      id,
      specHash: 'h',
      runtime: { class: 'Bwrap', replicas: 1, limits: { pids: 512 }, resources: {} },
      code: undefined,
      install: undefined,
      agentServer: {
        version: 1,
        agent: { ...id, principal: 'agent:default/demo' },
        keys: [{ kid: 'k', secret: 's' }],
        env: {},
        limits: {},
      },
      storage: { retain: false },
      role: 'demo',
      egress: [],
      egressToken: 't',
    },
    view: {
      code: '/code',
      workspace: '/workspace',
      deps: undefined,
      temporary: '/tmp',
      node: '/Agent/bin/node',
      exits: { router: 'unix:/run/ploinky/router.sock', egress: 'unix:/run/ploinky/egress.sock' },
      routerUrl: 'http://127.0.0.1:8080',
      agentServer: '/Agent/agent-server.mjs',
      path: '/usr/bin',
      runtime: 'bwrap',
      port: 7001,
    },
    folders: {
      code: '/home/me/project/agents/demo',
      codeWritable: false,
      deps: undefined,
      workspace: `${state}/agents/demo`,
      shared: `${state}/shared`,
      sockets: '/run/user/1000/p/w/b/k/in',
      files: `${state}/running/w/b/k/etc`,
      cache: undefined,
      ...folders,
    },
    user: undefined,
    environment: {},
    config: '{}',
    command: [],
  };
}
