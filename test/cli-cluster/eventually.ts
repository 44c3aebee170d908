import { setTimeout as sleep } from 'node:timers/promises';

/** Whether the condition came to hold within 30 s. */
export async function eventually(condition: () => Promise<boolean> | boolean): Promise<boolean> {
  for (let tries = 0; tries < 120; tries++) {
    if (await condition()) return true;
    await sleep(250);
  }
  return false;
}
