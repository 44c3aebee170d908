import type { Target } from '#routing/target.ts';
import { queueBinding } from '#wire/binding.ts';
import { mergeQueueStates, parseQueueState, type QueueState, queuePath } from '#wire/queue-state.ts';
import { anonymous } from '../../caller.ts';
import type { Services } from '../../services.ts';
import { collect } from '../../upstream/collect.ts';

/** What one agent does now. */
export interface AgentQueue {
  readonly namespace: string;
  readonly agent: string;
  /** Instances that were asked, and of them those that answered. */
  readonly instances: number;
  readonly answered: number;
  /** Of all that answered; absent when none did. */
  readonly queue?: QueueState;
  /** Why none was asked: a reason of the Agent's conditions. */
  readonly unavailable?: string;
}

/** Asks agents for their queues. */
export type Gather = (targets: readonly Target[]) => Promise<AgentQueue[]>;

/** No agent is asked more often than `queueMaxAgeMs` says, however many want to know. */
export function createGather(services: Services): Gather {
  const { clock, limits, tables } = services;
  const known = new Map<string, { readonly at: number; readonly answer: Promise<AgentQueue> }>();

  function ask(target: Target): Promise<AgentQueue> {
    const key = `${target.namespace}/${target.name}`;
    const now = clock.monotonic();
    const before = known.get(key);
    if (before !== undefined && now - before.at < limits.queueMaxAgeMs) return before.answer;
    const answer = askAgent(services, target);
    known.set(key, { at: now, answer });
    return answer;
  }
  function forgetGone(): void {
    const { targets } = tables.current();
    for (const key of known.keys()) if (!targets.has(key)) known.delete(key);
  }
  return async (targets) => {
    forgetGone();
    const waiting = [...targets.entries()];
    const found: AgentQueue[] = [];
    const work = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        found[next[0]] = await ask(next[1]);
      }
    };
    await Promise.all(Array.from({ length: limits.queueAsks }, work));
    return found;
  };
}

async function askAgent(services: Services, target: Target): Promise<AgentQueue> {
  const { name: agent, namespace, ready, unavailable } = target;
  const states = await Promise.all(ready.map(({ uid }) => askInstance(services, target, uid)));
  const answers = states.filter((state) => state !== undefined);
  return {
    namespace,
    agent,
    instances: ready.length,
    answered: answers.length,
    ...(answers.length > 0 && { queue: mergeQueueStates(answers) }),
    ...(unavailable !== undefined && { unavailable: unavailable.reason }),
  };
}

/** Undefined: no answer in time, or none that makes sense. */
async function askInstance(
  services: Services,
  { namespace, name }: Target,
  instance: string,
): Promise<QueueState | undefined> {
  const { sender, limits, clock } = services;
  const late = new AbortController();
  const cancel = clock.after(limits.queueDeadlineMs, () => late.abort());
  const call = {
    agent: `${namespace}/${name}`,
    method: 'GET',
    path: queuePath,
    headers: { accept: 'application/json' },
    binding: queueBinding,
    caller: anonymous,
    // Calls may have taken every connection of theirs: that is when somebody wants to look.
    lane: 'messages',
    readyWaitMs: 0,
    instance,
  } as const;
  try {
    const { status, text } = await collect(sender, call, { maxBytes: mostBytes, signal: late.signal });
    return status === 200 ? parseQueueState(JSON.parse(text)) : undefined;
  } catch {
    return undefined;
  } finally {
    cancel();
  }
}

/** Of one instance's answer. */
const mostBytes = 64 * 1024;
