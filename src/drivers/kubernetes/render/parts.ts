import type { Container, Volume, VolumeMount } from '#api/cluster-kinds.ts';

/** What one concern adds to a pod. */
export interface Part {
  readonly volumes: readonly Volume[];
  /** In every container of the agent: its own program and its agent-server. */
  readonly mounts: readonly VolumeMount[];
  /** Run to the end, in this order, before the agent. */
  readonly init: readonly Container[];
}

export const nothing: Part = { volumes: [], mounts: [], init: [] };

export function join(parts: readonly Part[]): Part {
  return {
    volumes: parts.flatMap(({ volumes }) => volumes),
    mounts: parts.flatMap(({ mounts }) => mounts),
    init: parts.flatMap(({ init }) => init),
  };
}

/** Names of our volumes begin with it; an author's may not. */
export const volumePrefix = 'ploinky-';

export const volumeNames = {
  bundle: 'ploinky-bundle',
  code: 'ploinky-code',
  config: 'ploinky-config',
  dependencies: 'ploinky-deps',
  gitAuthority: 'ploinky-git-ca',
  gitConfig: 'ploinky-git-config',
  gitCredential: 'ploinky-git-credential',
  installConfig: 'ploinky-install-config',
  setup: 'ploinky-setup',
  shared: 'ploinky-shared',
  temporary: 'ploinky-tmp',
  workspace: 'ploinky-workspace',
} as const;

export const paths = {
  agent: '/Agent',
  code: '/code',
  deps: '/deps',
  shared: '/shared',
  temporary: '/tmp',
  workspace: '/workspace',
  node: '/Agent/bin/node',
  agentServer: '/Agent/agent-server.mjs',
  agentConfig: '/etc/ploinky/agent',
  installConfig: '/etc/ploinky/install',
  gitConfig: '/etc/ploinky/git',
  gitAuthority: '/etc/ploinky/git-ca',
  gitCredential: '/etc/ploinky/git-credential',
} as const;

/** Port of the agent-server in every pod. */
export const mcpPort = 7000;

/** A value that Kubernetes must not take for one with references: `$(NAME)` is expanded in commands and values. */
export function literal(text: string): string {
  return text.replaceAll('$', '$$$$');
}
