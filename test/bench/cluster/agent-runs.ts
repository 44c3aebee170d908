import { systemClock } from '#kit/clock.ts';
import type { Scope } from '../harness/scope.ts';
import { type Created, countChildren, createAgents } from './agents.ts';
import { type ControllerOptions, type Program, startController } from './programs.ts';
import type { Ground } from './stage.ts';
import { type Delays, podDelays, type Writes, writesOf } from './writes.ts';

/** What it took a controller to bring a number of Agents up. */
export interface AgentRun extends Created {
  readonly agents: number;
  readonly reconciles: number;
  readonly conflicts: number;
  /** Absent without an audit log. */
  readonly writes?: Writes;
  readonly delays?: Delays;
  readonly children: Readonly<Record<string, number>>;
  /** CPU seconds of the controller until all was quiet. */
  readonly cpuSeconds: number;
  readonly peakMiB: number;
  /** After a collection. */
  readonly residentMiB: number;
  readonly heapMiB: number;
}

const mebibyte = 1_048_576;

/** Agents in a namespace that has none, with a controller that runs and is quiet. */
export async function runAgents(
  scope: Scope,
  stage: Ground,
  controller: Program,
  options: { readonly namespace: string; readonly count: number; readonly perSecond?: number },
): Promise<AgentRun> {
  const { namespace, count } = options;
  await stage.makeNamespace(namespace);
  const { audit } = stage;
  const mark = 'missing' in audit ? 0 : audit.mark();
  const before = controller.usage();
  const reconciled = await controller.metric('controller_runtime_reconcile_total', 'controller="agent"');
  const created = await createAgents(scope, stage, options);
  await untilQuiet(controller);
  const after = controller.usage();
  await systemClock.sleep(givesBackAfterMs);
  const memory = await controller.heap();
  const entries = 'missing' in audit ? undefined : await audit.since(mark);
  const reconciles = await controller.metric('controller_runtime_reconcile_total', 'controller="agent"');
  return {
    ...created,
    agents: count,
    reconciles: reconciles - reconciled,
    conflicts: await controller.metric('rest_client_requests_total', 'code="409"'),
    ...(entries && { writes: writesOf(entries), delays: podDelays(entries, namespace) }),
    children: await countChildren(stage, namespace),
    cpuSeconds: after.cpuSeconds - before.cpuSeconds,
    peakMiB: after.peakMiB,
    residentMiB: memory.rss / mebibyte,
    heapMiB: memory.heapUsed / mebibyte,
  };
}

/** A controller gives the memory of a burst back by itself: once it is quiet, and each minute while it is not. */
const givesBackAfterMs = 66_000;

/** Late Events and reconciles: until nothing was written for two seconds, or for half a minute at most. */
async function untilQuiet(controller: Program): Promise<void> {
  let last = -1;
  for (let looks = 0; looks < 15; looks += 1) {
    // Its Lease, which it renews as often, is the only thing that it writes with PUT.
    const now =
      (await controller.metric('rest_client_requests_total', 'method="POST"')) +
      (await controller.metric('rest_client_requests_total', 'method="PATCH"'));
    if (now === last) return;
    last = now;
    await systemClock.sleep(2_000);
  }
}

export interface IdleRun {
  readonly seconds: number;
  readonly writes?: Writes;
  readonly reconciles: number;
  /** CPU of the controller, of one core. */
  readonly cpuShare: number;
}

/** Nobody asks for anything for a while. */
export async function idle(stage: Ground, controller: Program, seconds: number): Promise<IdleRun> {
  const { audit } = stage;
  const mark = 'missing' in audit ? 0 : audit.mark();
  const before = controller.usage();
  const reconciled = await controller.metric('controller_runtime_reconcile_total');
  await systemClock.sleep(seconds * 1000);
  const used = controller.usage().cpuSeconds - before.cpuSeconds;
  return {
    seconds,
    ...('missing' in audit ? {} : { writes: writesOf(await audit.since(mark)) }),
    reconciles: (await controller.metric('controller_runtime_reconcile_total')) - reconciled,
    cpuShare: used / seconds,
  };
}

/** A controller of its own for `use`, which has ended when this resolves. */
export async function withController<T>(
  scope: Scope,
  stage: Ground,
  options: ControllerOptions,
  use: (controller: Program) => Promise<T>,
): Promise<T> {
  const controller = await startController(scope, stage, options);
  try {
    return await use(controller);
  } finally {
    await controller.stop();
  }
}
