import { access, constants } from 'node:fs/promises';
import type { Availability } from '../driver.ts';
import type { Sandbox, SandboxRun } from '../host/sandbox.ts';
import type { Launch } from '../host/shim-plan.ts';
import { createProcessSandbox, type ProcessOptions } from '../process/sandbox.ts';
import { renderProfile } from './profile.ts';

export interface SeatbeltOptions extends ProcessOptions {
  /** The workspace's `.ploinky`. */
  readonly state: string;
}

const sandboxExec = '/usr/bin/sandbox-exec';

/** Runs agents under macOS's sandbox-exec. The network they share is limited to the loopback. */
export function createSeatbeltSandbox(options: SeatbeltOptions): Sandbox {
  const plain = createProcessSandbox(options);
  return {
    ...plain,
    name: 'seatbelt',
    available,
    view: (folders) => ({ ...plain.view(folders), runtime: 'seatbelt' }),
    launch: (run) => launch(run, plain.launch(run), options),
  };
}

async function available(): Promise<Availability> {
  const found = await access(sandboxExec, constants.X_OK).then(
    () => true,
    () => false,
  );
  if (found) return { ok: true, detail: 'sandbox-exec (not tested by this project)' };
  return {
    ok: false,
    reason: 'sandbox-exec is part of macOS and not here',
    remedy: 'Use runtime.class Auto or Bwrap on Linux.',
  };
}

function launch(run: SandboxRun, plain: Launch, options: SeatbeltOptions): Launch {
  const profile = renderProfile(run, { state: options.state, programs: [options.node, options.agentServer] });
  return { ...plain, file: sandboxExec, arguments: ['-p', profile, plain.file, ...plain.arguments] };
}
