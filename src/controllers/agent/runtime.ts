import type { Agent } from '#api/agent.ts';
import type { Availability, Driver } from '#drivers/driver.ts';
import type { RuntimeChoice } from './facts.ts';

type DriverName = Driver['name'];
type RuntimeClass = Agent['spec']['runtime']['class'];

/** Which driver makes which class. `Auto` takes the first sandbox of the list that is there, never `process`. */
const classOfDriver: Readonly<Record<DriverName, Exclude<RuntimeClass, 'Auto'>>> = {
  kubernetes: 'Pod',
  bwrap: 'Bwrap',
  seatbelt: 'Seatbelt',
  container: 'Container',
  process: 'Process',
};

export interface KnownDriver {
  readonly name: DriverName;
  readonly availability: Availability;
}

/** Pure. The driver for `spec.runtime.class`, or why there is none. */
export function chooseRuntime(wanted: RuntimeClass, drivers: readonly KnownDriver[]): RuntimeChoice {
  const eligible = drivers.filter(({ name }) =>
    wanted === 'Auto' ? name !== 'process' : classOfDriver[name] === wanted,
  );
  const usable = eligible.find(({ availability }) => availability.ok);
  if (usable !== undefined) return { ok: true, class: classOfDriver[usable.name], driver: usable.name };
  const refusals = eligible
    .map(({ availability }) => availability)
    .filter((availability) => !availability.ok);
  const [first] = refusals;
  if (first !== undefined) return { ok: false, unavailable: first };
  const reason = `spec.runtime.class ${wanted} cannot be run by this controller.`;
  const classes = drivers.map(({ name }) => classOfDriver[name]).join(', ');
  return {
    ok: false,
    unavailable: { ok: false, reason, remedy: `It has: ${classes || 'no driver at all'}.` },
  };
}
