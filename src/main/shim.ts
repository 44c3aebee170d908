import { flushCompileCache } from 'node:module';
import { runShim } from '#drivers/host/shim/run.ts';
import type { ShimPlan } from '#drivers/host/shim-plan.ts';
import { systemClock } from '#kit/clock.ts';
import { closeInheritedDescriptors } from '#kit/descriptors.ts';

/**
 * Parent of one sandbox. Its plan comes through stdin (it holds secrets); one line on stdout says that the
 * control socket answers. It outlives the controller that started it.
 */
closeInheritedDescriptors();
// What the agent makes is readable; what the shim makes has its own modes.
process.umask(0o022);
// A terminal that closes, or a group that is signalled, does not end a workload; the control socket does.
for (const signal of ['SIGHUP', 'SIGINT', 'SIGPIPE'] as const) process.on(signal, () => undefined);
const terminate = new AbortController();
process.on('SIGTERM', () => terminate.abort());
process.stdout.on('error', () => undefined);

let text = '';
for await (const chunk of process.stdin) text += String(chunk);
const plan = JSON.parse(text) as ShimPlan;
text = '';
const onReady = () => {
  process.stdout.write('ready\n');
  // Node writes it at exit only, and a shim runs for long.
  flushCompileCache();
};
await runShim(plan, systemClock, onReady, terminate.signal);
process.exit(0);
