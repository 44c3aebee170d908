import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { CodedError } from '#kit/errors.ts';
import type { ShimPlan } from './shim-plan.ts';

export interface ShimProgram {
  readonly node: string;
  /** `src/main/shim.ts`. */
  readonly main: string;
}

const readyTimeoutMs = 20_000;

/**
 * Starts a shim in a session of its own, gives it the plan through stdin and resolves when its control
 * socket answers. Its stderr (it should have none) goes to the agent's log. `compileCache` is a private
 * folder in which Node keeps what it compiled.
 * Throws `ShimNotStarted` with what it said instead.
 */
export async function spawnShim(program: ShimProgram, plan: ShimPlan, compileCache: string): Promise<void> {
  const log = openSync(plan.log.path, 'a', 0o600);
  const shim = spawn(program.node, ['--disable-warning=ExperimentalWarning', program.main, plan.key], {
    cwd: '/',
    // Without the cache every shim would load the TypeScript stripper: 20 MB and 80 ms each.
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', NODE_COMPILE_CACHE: compileCache },
    detached: true,
    stdio: ['pipe', 'pipe', log],
  });
  closeSync(log);
  shim.stdin?.on('error', () => undefined);
  shim.stdin?.end(JSON.stringify(plan));
  try {
    await untilReady(shim);
  } finally {
    shim.stdout?.destroy();
    shim.unref();
  }
}

function untilReady(shim: ReturnType<typeof spawn>): Promise<void> {
  return new Promise((resolve, reject) => {
    const refuse = (why: string) =>
      reject(new CodedError('ShimNotStarted', `the shim did not start: ${why}`));
    const timer = setTimeout(() => {
      shim.kill('SIGKILL');
      refuse(`silent for ${readyTimeoutMs} ms`);
    }, readyTimeoutMs);
    const finish = (act: () => void) => {
      clearTimeout(timer);
      act();
    };
    shim.once('error', (error) => finish(() => refuse(error.message)));
    shim.once('exit', (code, signal) =>
      finish(() => refuse(`it ended with ${signal ?? code}; see the agent's log`)),
    );
    shim.stdout?.once('data', () => finish(resolve));
  });
}
