import { type AgentRun, type IdleRun, idle, runAgents, withController } from '../cluster/agent-runs.ts';
import type { Program } from '../cluster/programs.ts';
import type { Scope } from '../harness/scope.ts';
import { type OwnGround, openGround } from './ground.ts';

/** A run, and what the API used meanwhile: it shares this machine. */
export interface Measured extends AgentRun {
  readonly title: string;
  readonly apiCpuSeconds: number;
}

export interface Paced {
  readonly run: Measured;
  readonly idle: IdleRun;
}

export interface Together {
  readonly few: Measured;
  readonly burst: Measured;
}

export const perSecond = 100;
export const idleSeconds = 10;

/** Agents one after the other, with a controller that has seen none, and then nobody asks for anything. */
export function measurePaced(scope: Scope, app: string, count: number): Promise<Paced> {
  return onGround(scope, app, async (ground, controller) => ({
    run: await measure(scope, ground, controller, { namespace: 'paced', count, perSecond }),
    idle: await idle(ground, controller, idleSeconds),
  }));
}

/** A few Agents one after the other, and then a burst on top of them. */
export function measureTogether(scope: Scope, app: string, few: number, burst: number): Promise<Together> {
  return onGround(scope, app, async (ground, controller) => ({
    few: await measure(scope, ground, controller, { namespace: 'few', count: few, perSecond }),
    burst: await measure(scope, ground, controller, { namespace: 'burst', count: burst }),
  }));
}

async function onGround<T>(
  scope: Scope,
  app: string,
  use: (ground: OwnGround, controller: Program) => Promise<T>,
): Promise<T> {
  const ground = await openGround(scope, app);
  try {
    return await withController(scope, ground, {}, (controller) => use(ground, controller));
  } finally {
    await ground.stop();
  }
}

async function measure(
  scope: Scope,
  ground: OwnGround,
  controller: Program,
  options: { readonly namespace: string; readonly count: number; readonly perSecond?: number },
): Promise<Measured> {
  const before = ground.apiSeconds();
  const run = await runAgents(scope, ground, controller, options);
  const title = `${options.count}${options.perSecond === undefined ? ' at once' : ''}`;
  return { ...run, title, apiCpuSeconds: ground.apiSeconds() - before };
}
