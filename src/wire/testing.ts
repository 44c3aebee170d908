import type { Secret } from '#api/meta.ts';
import type { Clock } from '#kit/clock.ts';
import { sha256Hex } from '#kit/digest.ts';
import { type AgentIdentity, type MasterKey, masterSecretName } from './keys.ts';

/** Fixtures of this folder's tests and its neighbours'; nothing in the product imports it. */

export const demoAgent: AgentIdentity = {
  namespace: 'default',
  name: 'demo',
  uid: 'a1b2c3d4-0000-4000-8000-000000000001',
};

/** A master key that is the same in every run. */
export function masterKey(number: number): MasterKey {
  const secret = Buffer.from(sha256Hex(`master ${number}`), 'hex');
  return { kid: sha256Hex(secret).slice(0, 8), secret };
}

export function secretOf(data: Record<string, Buffer>): Secret {
  const encoded = Object.entries(data).map(([name, value]) => [name, value.toString('base64')]);
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: masterSecretName, namespace: 'default' },
    data: Object.fromEntries(encoded),
  };
}

/** Wall and monotonic time that move only when told; timers do not run. */
export interface ManualClock extends Clock {
  /** Lets both clocks run on. */
  advance(ms: number): void;
  /** Sets the wall clock alone, as an administrator would. */
  jump(ms: number): void;
}

export function manualClock(start = 1_750_000_000_000): ManualClock {
  let wall = start;
  let elapsed = 0;
  return {
    now: () => wall,
    monotonic: () => elapsed,
    sleep: () => new Promise(() => undefined),
    after: () => () => undefined,
    advance(ms) {
      wall += ms;
      elapsed += ms;
    },
    jump(ms) {
      wall += ms;
    },
  };
}
