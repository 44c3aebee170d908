import type { Container } from '#api/cluster-kinds.ts';
import { sha256Hex } from '#kit/digest.ts';
import type { WorkloadId } from '../../workload.ts';
import type { PodSettings } from '../settings.ts';
import { bundleMounts } from './bundle.ts';
import { literal, paths, volumeNames } from './parts.ts';
import { containerSecurity } from './security.ts';

export interface SetupStep {
  readonly name: string;
  /** File with the step's own configuration: another credential than the agent's. */
  readonly config: string;
  readonly command: readonly string[];
  readonly timeoutSeconds?: number;
}

/**
 * A container that runs one command to its end before the agent starts, in the agent image, with a way out through
 * the egress proxy. /tmp and /cache are its own kind's, never the agent's.
 */
export function setupContainer(settings: PodSettings, step: SetupStep): Container {
  const { imagePullPolicy } = settings.defaults ?? {};
  const limit = step.timeoutSeconds === undefined ? [] : ['timeout', '-k', '10', String(step.timeoutSeconds)];
  const exec = [paths.node, paths.agentServer, 'exec', '--config-file', step.config, '--', ...step.command];
  return {
    name: step.name,
    image: settings.agentImage,
    ...(imagePullPolicy === undefined ? {} : { imagePullPolicy }),
    command: [...limit, ...exec].map(literal),
    volumeMounts: [
      ...bundleMounts(settings.agentImage, settings),
      { name: volumeNames.setup, mountPath: paths.temporary, subPath: 'tmp' },
      { name: volumeNames.setup, mountPath: '/cache', subPath: 'cache' },
    ],
    securityContext: containerSecurity(settings),
    // Its last lines are then in the pod's status.
    terminationMessagePolicy: 'FallbackToLogsOnError',
  };
}

/** Such a step serves nothing, so its configuration needs no key; the format wants one. */
export function throwawayKey({ uid }: WorkloadId): string {
  return Buffer.from(sha256Hex(`no key of ${uid}`), 'hex').toString('base64url');
}
