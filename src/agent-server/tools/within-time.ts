import { createContext, Script } from 'node:vm';

/** Work that did not end in its time. */
export class OutOfTime extends Error {
  override readonly name = 'OutOfTime';
}

const place: { work: () => void } = { work: () => undefined };

/** Made when it is first needed: most agent-servers never do. */
const runPlace = once(() => {
  const context = createContext(place);
  const script = new Script('work()');
  return (timeout: number) => void script.runInContext(context, { timeout });
});

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/**
 * Runs `work`, which must leave nothing half done when it is interrupted anywhere, for at most `ms` milliseconds; each
 * run costs a watching thread. Throws OutOfTime.
 */
export function withinTime<T>(ms: number, work: () => T): T {
  let outcome: { readonly value: T } | undefined;
  place.work = () => {
    outcome = { value: work() };
  };
  try {
    runPlace()(ms);
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
  } finally {
    place.work = () => undefined;
  }
  if (outcome === undefined) throw new OutOfTime(`not done in ${ms} ms`);
  return outcome.value;
}
