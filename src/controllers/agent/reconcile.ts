import type { Agent, AgentStatus } from '#api/agent.ts';
import { findCondition } from '#api/conditions.ts';
import { hostWorkloadFinalizer } from '#api/finalizers.ts';
import { agentResource } from '#api/resources.ts';
import type { Driver } from '#drivers/driver.ts';
import type { Observed, WorkloadId } from '#drivers/workload.ts';
import type { Client } from '#kube/client.ts';
import type { EventRecorder } from '#kube/events.ts';
import { again, type Result, settled } from '#kube/result.ts';
import { deriveAgentKey } from '#wire/keys.ts';
import { isTrue } from '../conditions.ts';
import { decide, type Verdict } from './decide.ts';
import { desired, type HostSettings, identityOf } from './desired.ts';
import { type Notice, noticesOf } from './events.ts';
import type { AgentFacts, AgentReport } from './facts.ts';
import type { HandOvers } from './hand-overs.ts';
import { historyFromStatus, type RunHistory, recordReady } from './history.ts';
import { learnEnds } from './learn.ts';
import { redactStatus } from './redact-status.ts';
import type { AgentReports } from './reports.ts';
import { statusOf } from './status.ts';
import { lookAtTools, type ToolSight } from './tool-changes.ts';
import { idleOutdated, outdatedInstances, type Upgrades } from './upgrades.ts';

const fieldManager = 'ploinky-agent-controller';

export interface AgentReconcilerOptions {
  readonly client: Pick<Client, 'patch' | 'applyStatus'>;
  /** Every driver that may hold a workload; `runtime.driver` of the facts names one of them. */
  readonly drivers: readonly Driver[];
  readonly reports: AgentReports;
  readonly handOvers: HandOvers;
  readonly host: HostSettings;
  readonly events: Pick<EventRecorder, 'event'>;
  readonly upgrades: Upgrades;
  /** Told what each write answered, so that the next reconcile does not read an older state. */
  readonly observe: (agent: Agent) => void;
  /** Gathers all facts that come from caches; reads, writes nothing. */
  readonly gather: (agent: Agent, memory: Memory) => Promise<AgentFacts>;
}

/** What is remembered between two reconciles of one Agent; losing it costs a look at the driver, no more. */
export interface Memory {
  history: RunHistory;
  observed: Observed | undefined;
  /** Tools as they were last seen. */
  tools?: ToolSight | undefined;
  /** Driver that made the workload; undefined until this process has asked one. */
  driver: string | undefined;
}

export interface AgentReconciler {
  reconcile(agent: Agent): Promise<Result>;
  /**
   * The Agent is gone from the API. Ends its workload, should its finalizer have been taken away by force, and
   * keeps the workspace. False while it is still ending: forget it again when the driver tells of a change.
   */
  forget(id: WorkloadId): Promise<boolean>;
}

export function createAgentReconciler(options: AgentReconcilerOptions): AgentReconciler {
  const memories = new Map<string, Memory>();
  return {
    async reconcile(agent) {
      const memory = recall(memories, agent);
      if (agent.metadata.deletionTimestamp !== undefined) return finalize(options, agent);
      const facts = await options.gather(agent, memory);
      const onHost = facts.runtime.ok && facts.runtime.class !== 'Pod';
      if (onHost && !agent.metadata.finalizers?.includes(hostWorkloadFinalizer)) {
        await setFinalizers(options, agent, [...(agent.metadata.finalizers ?? []), hostWorkloadFinalizer]);
        return settled;
      }
      return settle(options, facts, memory);
    },
    forget(id) {
      memories.delete(id.uid);
      options.reports.leave(id.uid);
      options.handOvers.forget(id.uid);
      options.upgrades.release(id.uid);
      for (const driver of options.drivers) driver.forget?.(id);
      return removeEverywhere(
        options.drivers.filter(({ endsWithAgent }) => endsWithAgent !== true),
        id,
        true,
      );
    },
  };
}

function recall(memories: Map<string, Memory>, agent: Agent): Memory {
  const uid = agent.metadata.uid ?? '';
  const known = memories.get(uid);
  if (known !== undefined) return known;
  const halted = isTrue(agent.status?.conditions, 'Halted');
  const fresh = {
    history: historyFromStatus(agent.status?.restarts ?? 0, halted),
    observed: undefined,
    driver: undefined,
  };
  memories.set(uid, fresh);
  return fresh;
}

/** decide → desired → driver → status. Nothing is written when nothing changed. */
async function settle(options: AgentReconcilerOptions, facts: AgentFacts, memory: Memory): Promise<Result> {
  const verdict = decide(facts);
  const { observed, wanted, waits } = await act(options, facts, verdict, memory);
  const moved = observed?.phase !== memory.observed?.phase;
  memory.observed = observed;
  const reports = options.reports.get(facts.agent.metadata.uid ?? '');
  const { failures } = memory.history;
  memory.history = learnEnds(memory.history, facts, observed, wanted);
  // The decision has to be made again on the new history.
  const turned = memory.history.failures !== failures;
  const now = { ...facts, history: memory.history, observed, reports };
  const status = redactStatus(statusOf(now, verdict, observed), now);
  memory.history = recordReady(memory.history, readyInstances(status), facts.now);
  if (turned) return again(0);
  await writeStatus(options, facts.agent, status);
  const { sight, notices } = lookAtTools(memory.tools, status, reports);
  memory.tools = sight;
  tell(options, facts.agent, notices);
  if (moved && verdict.action !== 'run') return again(0);
  if (waits === true) return again(upgradeWaitMs);
  return verdict.wait === undefined ? settled : again(verdict.wait);
}

/** The only effect: asks the driver for what the verdict says. */
async function act(
  options: AgentReconcilerOptions,
  facts: AgentFacts,
  verdict: Verdict,
  memory: Memory,
): Promise<Acted> {
  const id = identityOf(facts.agent);
  if (verdict.action === 'stop' || verdict.action === 'refuse') {
    options.reports.leave(id.uid);
    options.handOvers.forget(id.uid);
    options.upgrades.release(id.uid);
    const isGone = await removeEverywhere(options.drivers, id, true);
    if (isGone) options.reports.forget(id.uid);
    return { observed: isGone ? undefined : stopping };
  }
  if (verdict.action === 'leave') return { observed: memory.observed };
  if (!facts.runtime.ok) return { observed: undefined };
  const driver = driverNamed(options.drivers, facts.runtime.driver);
  if (memory.driver !== driver.name) {
    if (!(await removeElsewhere(options.drivers, driver, id))) return { observed: stopping };
    memory.driver = driver.name;
  }
  const workload = desired(facts, options.host);
  const start = verdict.action === 'run';
  const { upgrade, waits } = start ? chooseUpgrade(options, facts, memory.observed) : noUpgrade;
  const observed = await driver.ensure(workload, {
    start,
    ...(upgrade === undefined ? {} : { upgrade: [upgrade] }),
  });
  follow(options, facts, observed);
  return { observed, wanted: workload.specHash, waits };
}

interface UpgradeChoice {
  /** Instance to replace now. */
  readonly upgrade?: string | undefined;
  /** One could be replaced and is not, because others are being. */
  readonly waits: boolean;
}

const noUpgrade: UpgradeChoice = { waits: false };
/** Milliseconds until an Agent that waits for its turn to change to a newer agent-server looks again. */
const upgradeWaitMs = 10_000;

function chooseUpgrade(
  { upgrades }: AgentReconcilerOptions,
  { agent, reports }: AgentFacts,
  observed: Observed | undefined,
): UpgradeChoice {
  const { uid = '' } = agent.metadata;
  const outdated = outdatedInstances(observed);
  if (outdated.length === 0) {
    if (isTrue(agent.status?.conditions, 'Ready')) upgrades.release(uid);
    return noUpgrade;
  }
  const upgrade = idleOutdated(outdated, reports);
  if (upgrade === undefined) return noUpgrade;
  return upgrades.admit(uid) ? { upgrade, waits: false } : { waits: true };
}

interface Acted {
  readonly observed: Observed | undefined;
  /** Spec hash that was asked for; undefined when the workload was to end. */
  readonly wanted?: string;
  readonly waits?: boolean;
}

const stopping: Observed = { phase: 'Stopping', message: 'Ending.', instances: [], limitsEnforced: true };

function driverNamed(drivers: readonly Driver[], name: string): Driver {
  const driver = drivers.find((candidate) => candidate.name === name);
  if (driver === undefined) throw new Error(`no driver is called ${name}`);
  return driver;
}

/** A workload that another driver made, because `spec.runtime.class` was another, ends before this one begins. */
async function removeElsewhere(drivers: readonly Driver[], chosen: Driver, id: WorkloadId): Promise<boolean> {
  let gone = true;
  for (const driver of drivers) {
    if (driver === chosen) continue;
    const held = (await driver.list()).some(({ uid }) => uid === id.uid);
    if (held) gone = (await driver.remove(id, { retain: true })).done && gone;
  }
  return gone;
}

/** Whichever driver made it, and also when none can run here now. False while something is still ending. */
async function removeEverywhere(
  drivers: readonly Driver[],
  id: WorkloadId,
  retain: boolean,
): Promise<boolean> {
  const ends = await Promise.all(drivers.map((driver) => driver.remove(id, { retain })));
  return ends.every(({ done }) => done);
}

/**
 * A pod's agent-server is listened to as soon as it has an address: what it says is then there when it is Ready. And
 * until it has ended: tasks that it runs to their end meanwhile are told of.
 */
function follow({ reports, handOvers }: AgentReconcilerOptions, facts: AgentFacts, observed: Observed): void {
  const agent = identityOf(facts.agent);
  const keys = facts.masterKeys.map((key) => deriveAgentKey(key, agent));
  const targets = observed.instances
    .filter(({ exit, address }) => exit === undefined && address !== '')
    .filter(({ ready, terminating }) => ready !== undefined || terminating || observed.phase === 'Running')
    .map(({ uid, address, ready = false, terminating: ends }) => ({
      ...{ agent, instance: uid, address, keys, answers: ready, ends },
    }));
  reports.follow(agent.uid, targets, (instance) => reportBefore(facts.agent.status, instance));
  // A pod reads its Secret again by itself.
  const isFile = facts.runtime.ok && facts.runtime.class === 'Pod';
  const lasting = targets.filter(({ ends }) => !ends);
  if (facts.upstream !== undefined && !isFile) handOvers.give(agent.uid, lasting, facts.upstream);
}

/** What an earlier controller's status says of this instance, so that an agent that is Ready stays so meanwhile. */
function reportBefore(status: AgentStatus | undefined, instance: string): AgentReport | undefined {
  const ready = status?.endpoints?.some((endpoint) => endpoint.uid === instance && endpoint.ready);
  const { toolCount = 0, toolsDigest = '', agentServerVersion: version } = status ?? {};
  if (!ready || version === undefined) return undefined;
  const { reason = 'Ready', message = '' } = findCondition(status?.conditions, 'Ready') ?? {};
  return { instance, version, ready, reason, message, toolCount, toolsDigest, idle: false };
}

function readyInstances(status: AgentStatus): string[] {
  return (status.endpoints ?? []).filter((endpoint) => endpoint.ready).map(({ uid }) => uid);
}

async function writeStatus(
  options: AgentReconcilerOptions,
  agent: Agent,
  status: AgentStatus,
): Promise<void> {
  const written = await options.client.applyStatus<Agent>(agentResource, agent, status, { fieldManager });
  if (written === agent) return;
  options.observe(written);
  tell(options, agent, noticesOf(agent.status, status));
}

function tell({ events }: AgentReconcilerOptions, agent: Agent, notices: readonly Notice[]): void {
  for (const { type, reason, message } of notices) events.event(agent, type, reason, message);
}

/** Ends the sandbox, whichever driver made it, then lets the API forget the Agent. */
async function finalize(options: AgentReconcilerOptions, agent: Agent): Promise<Result> {
  if (!agent.metadata.finalizers?.includes(hostWorkloadFinalizer)) return settled;
  options.reports.leave(agent.metadata.uid ?? '');
  const retain = agent.spec.storage.retain;
  if (!(await removeEverywhere(options.drivers, identityOf(agent), retain))) return settled;
  const left = agent.metadata.finalizers.filter((name) => name !== hostWorkloadFinalizer);
  await setFinalizers(options, agent, left);
  return settled;
}

async function setFinalizers(
  { client, observe }: AgentReconcilerOptions,
  agent: Agent,
  finalizers: readonly string[],
): Promise<void> {
  const { namespace = 'default', name, resourceVersion } = agent.metadata;
  const body = { metadata: { resourceVersion, finalizers } };
  const patched = await client.patch<Agent>(
    agentResource,
    { namespace, name },
    { type: 'merge', body },
    { fieldManager },
  );
  if (finalizers.length > 0) observe(patched);
}
