import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { knownSecrets } from '#api/known-secrets.ts';
import {
  agentServerConfig,
  installConfig,
  installEnvironment,
  standardEnvironment,
} from '../shared/environment.ts';
import { instanceVariable } from '../shared/instance-variable.ts';
import type { InstallStep, Workload } from '../workload.ts';
import { prepareAgentFolders, prepareInstallFolders } from './folders.ts';
import { planLimits } from './limits.ts';
import { type HostDriverOptions, hostDefaults } from './options.ts';
import { depsPlaces, type RunPlaces } from './places.ts';
import { isAlive, readRecord } from './record.ts';
import type { RunFolders, SandboxRun } from './sandbox.ts';
import type { WorkloadRecord } from './shim/record-file.ts';
import type { ShimPlan } from './shim-plan.ts';
import { spawnShim } from './spawn-shim.ts';

/** A shim that an earlier controller started in its last moment, after this one looked for them. */
export function findLiveRun(run: RunPlaces): WorkloadRecord | undefined {
  const record = readRecord(run.record);
  return record !== undefined && isAlive(record) ? record : undefined;
}

/** Starts a new instance of the agent in its own shim. Throws TerminalError for what cannot be run at all. */
export async function launchAgent(
  workload: Workload,
  run: RunPlaces,
  options: HostDriverOptions,
): Promise<WorkloadRecord> {
  const { sandbox, places } = options;
  const user = sandbox.userOf(`agent ${workload.id.namespace}/${workload.id.name}`);
  const folders = await prepareAgentFolders(workload, places, run, user, options.self);
  const view = sandbox.view(folders);
  const instance = options.random.uuid();
  const config = agentServerConfig(workload, view, instance, options.caBundle);
  const sandboxRun: SandboxRun = {
    kind: 'agent',
    workload,
    view,
    folders,
    user,
    environment: { ...standardEnvironment(workload, view), [instanceVariable]: instance },
    config: JSON.stringify(config),
    command: [],
  };
  const plan = {
    ...planOf(sandboxRun, run, instance, options),
    specHash: workload.specHash,
    listenSocket: run.listen(instance),
    log: { ...logPlan(places.log(workload.id), options), redact: knownSecrets(config) },
  };
  return start(plan, options);
}

/** Starts the install step in a shim of its own. */
export async function launchInstall(
  workload: Workload,
  step: InstallStep,
  run: RunPlaces,
  options: HostDriverOptions,
): Promise<WorkloadRecord> {
  const { sandbox, places } = options;
  const user = sandbox.userOf(`install ${step.digest}`);
  const folders = await prepareInstallFolders(workload, step.digest, places, run, user, options.self);
  const view = sandbox.view(folders);
  const instance = options.random.uuid();
  const throwawayKey = options.random.bytes(32).toString('base64url');
  const config = installConfig(workload, step, view, { instance, throwawayKey, caBundle: options.caBundle });
  const sandboxRun: SandboxRun = {
    kind: 'install',
    workload,
    view,
    folders,
    user,
    environment: {
      ...installEnvironment(workload, step, view, options.caBundle),
      [instanceVariable]: instance,
    },
    config: JSON.stringify(config),
    command: step.command,
  };
  const plan = {
    ...planOf(sandboxRun, run, instance, options),
    specHash: step.digest,
    timeoutMs: step.timeoutSeconds * 1_000,
    log: { ...logPlan(depsPlaces(places, step.digest).log, options), redact: knownSecrets(config) },
  };
  return start(plan, options);
}

type CommonPlan = Omit<ShimPlan, 'specHash' | 'log'>;

function planOf(run: SandboxRun, at: RunPlaces, instance: string, options: HostDriverOptions): CommonPlan {
  return {
    version: 1,
    kind: run.kind,
    workload: run.workload.id,
    key: at.key,
    instance,
    recordPath: at.record,
    controlSocket: at.control,
    relays: run.view.exits === undefined ? [] : relaysOf(run.folders, run.kind, options),
    relayMode: run.user === undefined ? 0o600 : 0o666,
    launch: options.sandbox.launch(run),
    ...(options.lease === undefined ? {} : { lease: options.lease }),
    graceMs: options.graceMs ?? hostDefaults.graceMs,
    openFiles: run.workload.runtime.limits.files ?? hostDefaults.openFiles,
    limits: planLimits(options.limits, `${at.key}-${instance.slice(0, 8)}`, run.workload.runtime.limits),
  };
}

function relaysOf(folders: RunFolders, kind: SandboxRun['kind'], { sockets }: HostDriverOptions) {
  const egress = { listen: join(folders.sockets, 'egress.sock'), target: sockets.egress };
  if (kind === 'install') return [egress];
  return [{ listen: join(folders.sockets, 'router.sock'), target: sockets.router }, egress];
}

function logPlan(path: string, options: HostDriverOptions): ShimPlan['log'] {
  return {
    path,
    maxBytes: options.logMaxBytes ?? hostDefaults.logMaxBytes,
    keep: options.logKeep ?? hostDefaults.logKeep,
  };
}

async function start(plan: ShimPlan, options: HostDriverOptions): Promise<WorkloadRecord> {
  await mkdir(dirname(plan.log.path), { recursive: true, mode: 0o700 });
  await spawnShim(options.shim, plan, join(options.places.state, 'cache', 'node'));
  const record = readRecord(plan.recordPath);
  if (record === undefined) throw new Error(`the shim left no record at ${plan.recordPath}`);
  return record;
}
