// Loaded into a controller that runs from its sources, by `node --import`: its streams to agent-servers never say
// anything and never try to connect. What such a controller does not use is what the attempts cost.
import { registerHooks } from 'node:module';

const silent = `export async function followChanges({ signal }) {
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}`;

registerHooks({
  load(url, context, next) {
    if (!url.endsWith('/src/wire/changes.ts')) return next(url, context);
    return { format: 'module', source: silent, shortCircuit: true };
  },
});
