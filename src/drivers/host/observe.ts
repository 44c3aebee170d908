import type { Observed, ObservedInstance } from '../workload.ts';
import type { Run } from './run.ts';
import type { RecordedExit } from './shim/record-file.ts';
import type { Slot, StartFailure } from './slot.ts';

/** What `ensure` answers for a slot as it is now. Pure. */
export function observe(slot: Slot): Observed {
  const { run, start, failure } = slot;
  if (slot.removal !== undefined) return answer('Stopping', 'is being removed', run);
  if (run !== undefined && !run.isOver) return observeRunning(run);
  if (start !== undefined) {
    const message = start.phase === 'Installing' ? 'the install step runs' : 'the sandbox is being started';
    // The run before was told before this start began, or was stopped on purpose: it is no end of the new spec.
    return { ...answer(start.phase, message, run), specHash: start.workload.specHash, instances: [] };
  }
  if (failure !== undefined) return observeFailure(slot.id.name, failure);
  if (run === undefined) return answer('Absent', 'nothing is there', undefined);
  const exit = run.record.exit;
  return answer('Failed', `${describeExit(exit)}${slot.tail === '' ? '' : `\n${slot.tail}`}`, run);
}

function observeFailure(name: string, failure: StartFailure): Observed {
  const { instance: uid, startedAt, at, reason } = failure;
  const exit = { code: null, signal: null, at };
  return {
    ...answer('Failed', failure.message, undefined),
    ...(reason === undefined ? {} : { reason }),
    specHash: failure.specHash,
    instances: [{ name, uid, address: '', terminating: false, startedAt, exit }],
  };
}

function observeRunning(run: Run): Observed {
  if (run.state === 'running') return answer('Running', 'the sandbox runs', run);
  if (run.state === 'starting') return answer('Starting', 'the sandbox is being started', run);
  return answer('Stopping', 'the sandbox is ending', run);
}

function answer(phase: Observed['phase'], message: string, run: Run | undefined): Observed {
  const limits = run?.record;
  return {
    phase,
    message,
    ...(run === undefined ? {} : { specHash: run.record.specHash }),
    instances: run === undefined ? [] : [instanceOf(run)],
    limitsEnforced: limits?.limitsEnforced ?? true,
    ...(limits?.limitsMessage === undefined ? {} : { limitsMessage: limits.limitsMessage }),
  };
}

function instanceOf(run: Run): ObservedInstance {
  const { record } = run;
  return {
    name: record.workload.name,
    uid: record.instance,
    address: record.address ?? '',
    terminating: run.state === 'stopping',
    ...(record.sandbox === undefined ? {} : { pid: record.sandbox.pid }),
    startedAt: record.startedAt,
    ...(record.exit === undefined ? {} : { exit: exitOf(record.exit) }),
  };
}

function exitOf({ code, signal, at }: RecordedExit): NonNullable<ObservedInstance['exit']> {
  return { code, signal, at };
}

function describeExit(exit: RecordedExit | undefined): string {
  if (exit === undefined) return 'the sandbox ended';
  const how = exit.signal === null ? `exit code ${exit.code ?? 'unknown'}` : `signal ${exit.signal}`;
  return exit.cause === undefined
    ? `the agent-server ended with ${how}`
    : `the sandbox ended: ${exit.cause} (${how})`;
}
