import { type Pod, podResource } from '#api/cluster-kinds.ts';
import { CodedError, messageOf } from '#kit/errors.ts';
import { isAlreadyExists, isConflict, isNotFound } from '#kube/errors.ts';
import type { Availability, Driver, EnsureOptions, LogOptions } from '../driver.ts';
import type { Fault, Observed, Workload, WorkloadId } from '../workload.ts';
import { type Alarms, createAlarms } from './alarms.ts';
import { type Caches, startCaches } from './caches.ts';
import { readLogs } from './log-reader.ts';
import { createLooks, type Looks, lostMs } from './looks.ts';
import { createMemories, forgetGone, type Memory } from './memory.ts';
import { installSecretName, podName, workloadIdOf } from './names.ts';
import { noticesOf } from './notices.ts';
import { observe, overdueMs } from './observe/observe.ts';
import type { PodFacts } from './observe/pod-facts.ts';
import { defaults, fieldManager, type KubernetesDriverOptions } from './options.ts';
import { outdatedToReplace } from './outdated.ts';
import { type Plan, planOf } from './plan.ts';
import { deletePod, endLostPod } from './pod-ends.ts';
import { refusalOf } from './refusals.ts';
import { removeChildren } from './remove-children.ts';
import { type Children, pinnedCommit } from './render/children.ts';
import { isPinned } from './render/git.ts';
import { createWriter, forgetClaims, type Writer, writeChildren } from './write-children.ts';

/** How long a call waits for the first list of what is there. */
const patienceMs = 700;
/** Between attempts to make what the cluster refused. */
const refusedMs = 15_000;

/**
 * Agents as pods that it makes itself. What it holds in memory (which ends it has told) costs a moment when it is
 * lost; everything else is in the API. Begins to follow the API at once.
 */
export function createKubernetesDriver(options: KubernetesDriverOptions): Driver {
  return new KubernetesDriver(options);
}

class KubernetesDriver implements Driver {
  readonly name = 'kubernetes';
  readonly endsWithAgent = true;
  readonly #options: KubernetesDriverOptions;
  readonly #caches: Caches;
  readonly #writer: Writer;
  readonly #alarms: Alarms;
  readonly #looks: Looks;
  readonly #listeners = new Set<(id: WorkloadId) => void>();
  readonly #memories = createMemories();

  constructor(options: KubernetesDriverOptions) {
    this.#options = options;
    this.#alarms = createAlarms(options.clock);
    this.#caches = startCaches(options, (id) => this.#tell(id));
    this.#looks = createLooks(options, this.#caches, this.#alarms, (id) => this.#tell(id));
    this.#writer = createWriter(options, this.#caches);
  }

  async available(): Promise<Availability> {
    return { ok: true, detail: 'pods of this cluster' };
  }

  async ensure(workload: Workload, { start, upgrade = [] }: EnsureOptions): Promise<Observed> {
    await this.#known();
    const { id } = workload;
    const memory = this.#memories.of(id.uid);
    const pods = this.#caches.podsOf(id.uid);
    forgetGone(memory, pods);
    memory.fault = undefined;
    const { bundleImage: image } = this.#options.settings;
    for (const uid of outdatedToReplace(pods, { image, allowed: upgrade, start })) memory.upgrading.add(uid);
    const plan = this.#plan(workload, memory, pods, start);
    try {
      if (start || pods.length > 0) await this.#carryOut(workload, memory, plan, commitOf(workload, pods));
    } catch (error) {
      memory.fault = this.#refusal(error, id);
    }
    return this.#observe(workload, memory);
  }

  async remove(
    id: WorkloadId,
    { retain }: { readonly retain: boolean },
  ): Promise<{ readonly done: boolean }> {
    await this.#known();
    const memory = this.#memories.of(id.uid);
    const pods = this.#caches.podsOf(id.uid);
    forgetGone(memory, pods);
    const live = pods.filter(({ terminating }) => !terminating);
    await this.#retire(
      id,
      memory,
      live.filter(({ ready }) => ready),
    );
    await this.#deleteAll(
      id,
      live.filter(({ ready }) => !ready),
    );
    await this.#endLost(id, pods);
    if (this.#caches.podsOf(id.uid).length > 0) return { done: false };
    const isGone = await removeChildren(this.#writer, id, retain);
    if (isGone) this.forget(id);
    return { done: isGone };
  }

  forget(id: WorkloadId): void {
    this.#memories.forget(id.uid);
    this.#writer.codeMaps.forget(id.uid);
    forgetClaims(this.#writer, id);
  }

  async list(): Promise<readonly WorkloadId[]> {
    await this.#caches.synced;
    const ids = new Map<string, WorkloadId>();
    for (const pod of this.#caches.pods.cache.list()) {
      const id = workloadIdOf(pod);
      if (id !== undefined) ids.set(id.uid, id);
    }
    return [...ids.values()];
  }

  watch(onChange: (id: WorkloadId) => void): () => void {
    this.#listeners.add(onChange);
    return () => this.#listeners.delete(onChange);
  }

  async *logs(id: WorkloadId, options: LogOptions): AsyncIterable<string> {
    await this.#caches.synced;
    const pods = this.#caches.podsOf(id.uid).sort((a, b) => a.slot - b.slot || a.createdAt - b.createdAt);
    const found = pods.map(({ name }) => this.#podOf(id, name)).filter((pod) => pod !== undefined);
    yield* readLogs(this.#options.client, found, options);
  }

  async close(): Promise<void> {
    this.#listeners.clear();
    this.#alarms.clear();
    this.#writer.codeMaps.close();
    await this.#caches.stop();
  }

  /** An answer without the first list would say that nothing is there. Throws NotSynced, which is tried again. */
  async #known(): Promise<void> {
    const patience = new AbortController();
    const isKnown = await Promise.race([
      this.#caches.synced.then(() => true),
      this.#options.clock.sleep(patienceMs, patience.signal).then(
        () => false,
        () => true,
      ),
    ]);
    patience.abort();
    if (!isKnown) throw new CodedError('NotSynced', 'the cluster has not said yet which pods there are');
  }

  #podOf({ namespace }: WorkloadId, name: string): Pod | undefined {
    return this.#caches.pods.cache.get({ namespace, name });
  }

  #tell(id: WorkloadId): void {
    for (const listener of this.#listeners) listener(id);
  }

  #plan(workload: Workload, memory: Memory, pods: readonly PodFacts[], start: boolean): Plan {
    return planOf({
      replicas: workload.runtime.replicas,
      specHash: workload.specHash,
      hasVolume: workload.storage.size !== undefined,
      start,
      pinned: isPinned(workload) || this.#commitOf(workload, pods) !== undefined,
      pods,
      told: memory.told,
      replace: memory.upgrading,
    });
  }

  #commitOf(workload: Workload, pods: readonly PodFacts[]): string | undefined {
    if (workload.code?.type !== 'git') return undefined;
    const { namespace, name } = workload.id;
    const secret = this.#options.secrets.get({ namespace, name: installSecretName(name) });
    return pinnedCommit(secret, workload.specHash) ?? commitOf(workload, pods);
  }

  /** Writes first what pods need. Nothing here waits for anything but the API's answers. */
  async #carryOut(workload: Workload, memory: Memory, plan: Plan, commit: string | undefined): Promise<void> {
    const { id } = workload;
    for (const uid of memory.retiring.keys()) {
      if (!plan.retire.some((pod) => pod.uid === uid)) memory.retiring.delete(uid);
    }
    await this.#deleteAll(id, plan.remove);
    await this.#giveUp(id, plan.giveUp);
    await this.#endLost(id, this.#caches.podsOf(id.uid));
    const children = await writeChildren(this.#writer, workload, commit);
    // Throws for what cannot be a pod, before anything that serves ends for it.
    if (plan.retire.length > 0) children.pod(0, id.name);
    await this.#retire(id, memory, plan.retire);
    await Promise.all(plan.create.map(({ slot, stuck }) => this.#create(workload, children, slot, stuck)));
    const used = this.#caches.podsOf(id.uid).map(({ codeMap }) => codeMap);
    await this.#writer.codeMaps.removeOthers(id.uid, [children.codeConfigMap?.metadata.name, ...used]);
  }

  async #create(
    workload: Workload,
    children: Children,
    slot: number,
    stuck: readonly string[],
  ): Promise<void> {
    const name = this.#freeName(workload, slot, stuck, this.#memories.of(workload.id.uid));
    const pod = children.pod(slot, name);
    try {
      await this.#caches.createPod(pod);
    } catch (error) {
      // The cache is behind: the watch brings the pod, and with it the next call.
      if (!isAlreadyExists(error)) throw error;
    }
  }

  /** A name that a pod has which this one is to replace would be its for as long as that one serves. */
  #freeName(
    { id, specHash }: Workload,
    slot: number,
    stuck: readonly string[],
    { upgrading }: Memory,
  ): string {
    for (let salt = 0; ; salt += 1) {
      const name = podName(id, slot, specHash, stuck, salt);
      const holder = this.#caches.podsOf(id.uid).find((pod) => pod.name === name);
      if (holder === undefined || (holder.specHash === specHash && !upgrading.has(holder.uid))) return name;
    }
  }

  /** Tells first, deletes when routers have had the time to leave the pods out. */
  async #retire(id: WorkloadId, { retiring }: Memory, pods: readonly PodFacts[]): Promise<void> {
    const { clock, noticeMs = defaults.noticeMs } = this.#options;
    const { due, waiting } = noticesOf(retiring, pods, clock.monotonic(), noticeMs);
    for (const { uid, ms } of waiting) this.#alarms.set(`retire ${uid}`, ms, () => this.#tell(id));
    await this.#deleteAll(id, due);
  }

  async #deleteAll(id: WorkloadId, pods: readonly PodFacts[]): Promise<void> {
    await Promise.all(pods.map(({ name, uid }) => deletePod(this.#options.client, id, { name, uid })));
  }

  /** A kubelet ends a pod for good whose time is over, and starts nothing in it again; its logs stay. */
  async #giveUp({ namespace }: WorkloadId, pods: readonly PodFacts[]): Promise<void> {
    for (const { name, uid } of pods) {
      // With another uid the API refuses: a pod of the same name is not this one.
      const body = { metadata: { uid }, spec: { activeDeadlineSeconds: 1 } };
      try {
        const key = { namespace, name };
        await this.#options.client.patch<Pod>(podResource, key, { type: 'merge', body }, { fieldManager });
      } catch (error) {
        if (!isNotFound(error) && !isConflict(error)) throw error;
      }
    }
  }

  /** Pods that should be gone: asks again later, and ends them when their node is known to be lost. */
  async #endLost(id: WorkloadId, pods: readonly PodFacts[]): Promise<void> {
    const now = this.#options.clock.now();
    for (const { name, uid, goneBy } of pods) {
      if (goneBy === undefined) continue;
      const wait = goneBy + overdueMs - now;
      this.#alarms.set(`lost ${uid}`, Math.max(wait, lostMs), () => this.#tell(id));
      const pod = wait > 0 ? undefined : this.#podOf(id, name);
      if (pod !== undefined) await endLostPod(this.#options.client, pod);
    }
  }

  /** A refusal is no failure of this call: it is told, and tried again after a while. Throws everything else. */
  #refusal(error: unknown, id: WorkloadId): Fault {
    const { log, settings } = this.#options;
    const fault = refusalOf(error, id.namespace, settings.roleBinding ?? defaults.roleBinding);
    if (fault === undefined) throw error;
    log.debug('a workload cannot be made', { workload: id, reason: fault.reason, error: messageOf(error) });
    this.#alarms.set(`refused ${id.uid}`, refusedMs, () => this.#tell(id));
    return fault;
  }

  #observe(workload: Workload, memory: Memory): Observed {
    const { id } = workload;
    const pods = this.#caches.podsOf(id.uid);
    for (const { uid, exit } of pods) if (exit !== undefined) memory.told.add(uid);
    this.#looks.plan(id, memory, pods);
    const warning = pods
      .map(({ uid, unexplained }) => (unexplained ? memory.warnings.get(uid) : undefined))
      .find((found) => found !== undefined);
    return observe({
      workload,
      pods,
      retiring: new Set(memory.retiring.keys()),
      fault: memory.fault ?? warning,
      commit: this.#commitOf(workload, pods),
      serverImage: this.#options.settings.bundleImage,
      now: this.#options.clock.now(),
    });
  }
}

/** Commit that a pod of the wanted spec has fetched. */
function commitOf({ specHash }: Workload, pods: readonly PodFacts[]): string | undefined {
  return pods.find((pod) => pod.specHash === specHash && pod.commit !== undefined)?.commit;
}
