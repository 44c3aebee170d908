import type { Driver } from './driver.ts';
import type { Workload } from './workload.ts';

type RuntimeClass = Workload['runtime']['class'] | 'Auto';

export type Selection =
  | { readonly ok: true; readonly driver: Driver }
  /** For a condition with reason `DriverUnavailable`. */
  | { readonly ok: false; readonly reason: string; readonly remedy: string };

const driverOfClass: Record<Exclude<RuntimeClass, 'Auto'>, Driver['name']> = {
  Pod: 'kubernetes',
  Bwrap: 'bwrap',
  Seatbelt: 'seatbelt',
  Container: 'container',
  Process: 'process',
};

/** What `Auto` stands for, best first. `process` is not among them: nothing runs unsandboxed unasked. */
const automatic: readonly Driver['name'][] = ['kubernetes', 'bwrap', 'seatbelt', 'container'];

/** The driver for a runtime class among those that this installation has and this machine can run. */
export async function selectDriver(
  runtimeClass: RuntimeClass,
  drivers: readonly Driver[],
): Promise<Selection> {
  const names = runtimeClass === 'Auto' ? automatic : [driverOfClass[runtimeClass]];
  const refusals: { reason: string; remedy: string }[] = [];
  for (const name of names) {
    const driver = drivers.find((candidate) => candidate.name === name);
    if (driver === undefined) continue;
    const availability = await driver.available();
    if (availability.ok) return { ok: true, driver };
    refusals.push({ reason: `${name}: ${availability.reason}`, remedy: availability.remedy });
  }
  return refuse(runtimeClass, refusals);
}

function refuse(
  runtimeClass: RuntimeClass,
  refusals: readonly { reason: string; remedy: string }[],
): Selection {
  const [first] = refusals;
  if (first === undefined) {
    return {
      ok: false,
      reason: `runtime.class ${runtimeClass} is not available here`,
      remedy: 'Set runtime.class to Auto, or run on a machine or cluster that has it.',
    };
  }
  return { ok: false, reason: refusals.map((refusal) => refusal.reason).join('; '), remedy: first.remedy };
}
