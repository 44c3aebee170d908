import type { AgentServerConfig } from '#api/agent-server-config.ts';
import { installConfig } from '../../shared/environment.ts';
import type { Workload } from '../../workload.ts';
import { installSecretName } from '../names.ts';
import type { PodSettings } from '../settings.ts';
import { codeMount } from './code.ts';
import { folderOf } from './folders.ts';
import { nothing, type Part, paths, volumeNames } from './parts.ts';
import { setupContainer, throwawayKey } from './setup.ts';
import { podView } from './view.ts';

export const installContainerName = 'install';

/** Fills /deps before the agent starts; the agent reads it. */
export function installPart(workload: Workload, settings: PodSettings): Part {
  const { install, id, code } = workload;
  if (install === undefined) return nothing;
  const { command, timeoutSeconds } = install;
  const config = `${paths.installConfig}/config.json`;
  const container = setupContainer(settings, { name: installContainerName, config, command, timeoutSeconds });
  const deps = volumeNames.dependencies;
  const secret = {
    secretName: installSecretName(id.name),
    items: [{ key: 'install.json', path: 'config.json' }],
    defaultMode: 0o440,
  };
  return {
    volumes: [
      { name: deps, ...folderOf('dependencies', settings) },
      { name: volumeNames.installConfig, secret },
    ],
    mounts: [
      { name: deps, mountPath: paths.deps, readOnly: true },
      // Where a module below /code is looked for.
      { name: deps, mountPath: '/node_modules', subPath: 'node_modules', readOnly: true },
    ],
    init: [
      {
        ...container,
        workingDir: paths.deps,
        volumeMounts: [
          ...(container.volumeMounts ?? []),
          codeMount(code),
          { name: deps, mountPath: paths.deps },
          { name: volumeNames.installConfig, mountPath: paths.installConfig, readOnly: true },
        ],
      },
    ],
  };
}

/** Configuration of the install container; undefined when there is nothing to install. Secret. */
export function installStepConfig(workload: Workload, settings: PodSettings): AgentServerConfig | undefined {
  if (workload.install === undefined) return undefined;
  const options = { instance: '', throwawayKey: throwawayKey(workload.id), caBundle: undefined };
  return installConfig(workload, workload.install, podView(workload, settings), options);
}
