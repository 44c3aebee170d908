import { hash } from 'node:crypto';
import type { Clock } from '#kit/clock.ts';
import type { Target, TargetEndpoint } from '#routing/target.ts';
import { RouterError } from '../errors.ts';
import type { TableSource } from '../sources.ts';

export interface Ready {
  readonly target: Target;
  readonly endpoint: TargetEndpoint;
}

export interface ReadyOptions {
  readonly tables: TableSource;
  readonly clock: Clock;
  /** How long to wait for an agent that is starting. */
  readonly waitMs: number;
  /** Calls with the same value go to the same instance while it lives: a session's state is there. */
  readonly affinity?: string | undefined;
  /** uid of the instance that it is for while that lives, though it ends or is not ready. */
  readonly preferred?: string | undefined;
  /** Slot of the instance that it is for when `preferred` has gone: it has that one's workspace. */
  readonly preferredSlot?: number | undefined;
  /** uid of the only instance that will do. */
  readonly only?: string | undefined;
  /** Slot of the only replica that will do, where replicas have slots. */
  readonly slot?: number | undefined;
  /** The same, where the agent has such a replica; it may be away at the moment. */
  readonly slotIfThere?: number | undefined;
  /** Instance that just failed: another one is waited for. */
  readonly except?: TargetEndpoint | undefined;
}

/**
 * An instance of the agent that takes calls. Answers at once when there is one; an agent that is starting is
 * waited for by watch, not by polling. Throws or rejects with AgentUnavailable, with a message fit for clients.
 */
export function findReady(key: string, options: ReadyOptions): Ready | Promise<Ready> {
  return look(key, options) ?? awaitReady(key, options);
}

/** Whether what was found is still in the newest table, for a call with the same options. */
export function isListed(key: string, { target, endpoint }: Ready, options: ReadyOptions): boolean {
  const now = options.tables.current().targets.get(key);
  if (now === target) return true;
  if (now === undefined || now.identity.uid !== target.identity.uid) return false;
  const { uid, address } = endpoint;
  const isIt = (other: TargetEndpoint) => other.uid === uid && other.address === address;
  return now.ready.some(isIt) || (uid === options.preferred && now.others.some(isIt));
}

async function awaitReady(key: string, options: ReadyOptions): Promise<Ready> {
  await changeOrTimeout(key, options);
  const found = look(key, options);
  if (found !== undefined) return found;
  throw unavailable(key, options);
}

function look(key: string, options: ReadyOptions): Ready | undefined {
  const target = options.tables.current().targets.get(key);
  if (target === undefined) return undefined;
  const endpoint = named(target, options) ?? choose(candidates(target, options), options);
  return endpoint === undefined ? undefined : { target, endpoint };
}

function candidates(target: Target, options: ReadyOptions): readonly TargetEndpoint[] {
  const { ready } = target;
  const { only, except } = options;
  const wanted = options.slot ?? slotThere(target, options.slotIfThere);
  if (only === undefined && except === undefined && wanted === undefined) return ready;
  return ready.filter(
    ({ uid, address, slot }) =>
      (wanted === undefined || slot === undefined || slot === wanted) &&
      (only === undefined || uid === only) &&
      (uid !== except?.uid || address !== except.address),
  );
}

function slotThere({ ready, replicas }: Target, slot: number | undefined): number | undefined {
  if (slot === undefined || slot < replicas) return slot;
  return ready.some((endpoint) => endpoint.slot === slot) ? slot : undefined;
}

/** What a call goes on with may be at an instance that takes no new ones. */
function named(
  { ready, others }: Target,
  { preferred, preferredSlot, only, except }: ReadyOptions,
): TargetEndpoint | undefined {
  if (preferred === undefined || only !== undefined) return undefined;
  const isNamed = ({ uid, address }: TargetEndpoint) =>
    uid === preferred && (uid !== except?.uid || address !== except.address);
  const named = ready.find(isNamed) ?? others.find(isNamed);
  if (named !== undefined || preferredSlot === undefined) return named;
  return ready.find(({ slot, uid }) => slot === preferredSlot && uid !== except?.uid);
}

/** Rendezvous hashing: when instances come or go only the sessions of those move. */
function choose(
  endpoints: readonly TargetEndpoint[],
  { affinity }: ReadyOptions,
): TargetEndpoint | undefined {
  if (endpoints.length < 2) return endpoints[0];
  const salt = affinity ?? String(rotation++);
  let best: TargetEndpoint | undefined;
  let bestScore = '';
  for (const endpoint of endpoints) {
    const score = hash('sha256', `${salt} ${endpoint.uid}`, 'hex');
    if (score > bestScore) [best, bestScore] = [endpoint, score];
  }
  return best;
}
let rotation = 0;

function changeOrTimeout(key: string, options: ReadyOptions): Promise<void> {
  if (!mayBecomeReady(key, options)) return Promise.resolve();
  return new Promise((resolve) => {
    const finish = () => {
      stop();
      cancel();
      resolve();
    };
    const stop = options.tables.subscribe(() => {
      if (look(key, options) !== undefined || !mayBecomeReady(key, options)) finish();
    });
    const cancel = options.clock.after(options.waitMs, finish);
  });
}

function mayBecomeReady(key: string, { tables, except }: ReadyOptions): boolean {
  const target = tables.current().targets.get(key);
  if (target === undefined) return !tables.synced;
  return except !== undefined || (target.unavailable?.passing ?? true);
}

function unavailable(key: string, { tables }: ReadyOptions): RouterError {
  const name = key.slice(key.indexOf('/') + 1);
  const target = tables.current().targets.get(key);
  if (target === undefined) {
    return new RouterError('AgentUnavailable', `Agent '${name}' does not exist.`, { agents: [name] });
  }
  const why = target.unavailable;
  const message =
    why === undefined || why.passing
      ? `Agent '${name}' is still starting. Try again in a moment.`
      : `Agent '${name}' is not running (${why.reason}): ${why.message}`;
  return new RouterError('AgentUnavailable', message, { agents: [name] });
}
