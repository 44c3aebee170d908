import type { ContainerStatus, TerminatedState } from '#api/cluster-kinds.ts';
import type { AgentReason } from '#api/reasons.ts';
import type { Fault } from '../../workload.ts';
import { gitContainerName } from '../render/git.ts';
import { installContainerName } from '../render/install.ts';
import { gitRemedy } from './git-remedies.ts';

const imageReasons = [
  'ImagePullBackOff',
  'ErrImagePull',
  'InvalidImageName',
  'ErrImageNeverPull',
  'ImageInspectError',
  'RegistryUnavailable',
  'SignatureValidationFailed',
];
const configReasons = ['CreateContainerConfigError', 'CreateContainerError', 'PreCreateHookError'];
/** Of a program that is not there, or is for another processor. */
const cannotRun = /no such file or directory|exec format error/i;

/** What the first container that is in trouble says, in words of this project and the cluster's own. */
export function containerFault(statuses: readonly ContainerStatus[], hasEnded: boolean): Fault | undefined {
  for (const status of statuses) {
    const fault = waitingFault(status) ?? endFault(status, hasEnded);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function waitingFault({ name, state }: ContainerStatus): Fault | undefined {
  const { reason = '', message = '' } = state?.waiting ?? {};
  if (imageReasons.includes(reason)) {
    return fault('ImagePullFailed', `The image of container ${name} cannot be had (${reason}): ${message}`);
  }
  if (configReasons.includes(reason)) {
    return fault('ContainerConfigError', `Container ${name} cannot be made: ${message}`);
  }
  if (reason === 'RunContainerError') return startFault(name, message);
  return undefined;
}

/**
 * The end of a container that should run, or that has not done what it is there for. One that runs again is in
 * trouble until it is ready.
 */
function endFault(status: ContainerStatus, hasEnded: boolean): Fault | undefined {
  const { name, state, lastState, ready } = status;
  if (state?.terminated !== undefined && state.terminated.exitCode === 0) return undefined;
  const isBack = state?.running !== undefined && (ready || isSetup(name));
  const end = state?.terminated ?? (isBack ? undefined : lastState?.terminated);
  const known = end?.reason === 'ContainerStatusUnknown' ? lastState?.terminated : end;
  if (known === undefined || (known.exitCode === 0 && !hasEnded)) return undefined;
  return describeEnd(status, known);
}

function describeEnd(status: ContainerStatus, end: TerminatedState): Fault {
  const { name, restartCount } = status;
  if (end.reason === 'OOMKilled') {
    const limit = status.resources?.limits?.['memory'];
    const which = `${limit === undefined ? '' : `${limit}, `}spec.runtime.resources.limits.memory`;
    const message = `Container ${name} used more memory than its limit (${which}) and was killed${times(restartCount)}.`;
    return fault('OOMKilled', message);
  }
  const isStart = end.reason === 'StartError' || end.reason === 'ContainerCannotRun';
  if (isStart) return startFault(name, end.message ?? '');
  const log = tailOf(end.message);
  if (name === installContainerName) {
    const how =
      end.exitCode === 124 ? 'took longer than its time limit' : `ended with exit code ${end.exitCode}`;
    return fault('InstallFailed', `The install step ${how}.${log}`);
  }
  if (name === gitContainerName) {
    return fault('CodeUnavailable', `The code cannot be fetched.${gitRemedy(end.message)}${log}`);
  }
  const how = end.signal ? `signal ${end.signal}` : `exit code ${end.exitCode}`;
  return fault('BackOff', `Container ${name} ended with ${how}${times(restartCount)}.${log}`);
}

function startFault(name: string, message: string): Fault {
  if (cannotRun.test(message) && /\/Agent\/|exec format/i.test(message)) {
    const told = 'The image cannot run the agent-server: it is for another processor';
    return fault('ImageNotSupported', `${told} (container ${name}: ${message})`);
  }
  return fault('ContainerConfigError', `Container ${name} cannot be started: ${message}`);
}

function isSetup(name: string): boolean {
  return name === installContainerName || name === gitContainerName;
}

function times(restarts: number): string {
  if (restarts === 0) return '';
  return restarts === 1 ? ' (started again once)' : ` (started again ${restarts} times)`;
}

const maxLines = 20;
const maxCharacters = 1500;

/** The kubelet puts the last lines of the log into the message of a container that failed. */
function tailOf(message: string | undefined): string {
  const lines = message?.trimEnd().split('\n').slice(-maxLines) ?? [];
  const text = lines.join('\n').slice(-maxCharacters);
  return text === '' ? '' : ` The end of its log:\n${text}`;
}

export function fault(reason: AgentReason, message: string): Fault {
  return { reason, message: message.trim() };
}
