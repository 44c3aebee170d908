import assert from 'node:assert/strict';
import { callOf, openSession, send, surfaces } from './client.ts';
import type { Place } from './place.ts';

export interface Alongside<T> {
  readonly outcome: T;
  /** Of honest calls meanwhile, in milliseconds, sorted. */
  readonly latencies: readonly number[];
}

/** Does something hostile while another client calls an honest agent, one call after the other, all of which succeed. */
export async function alongside<T>({ router }: Place, work: () => Promise<T>): Promise<Alongside<T>> {
  const [path] = surfaces;
  const session = await openSession(router.port, path);
  const latencies: number[] = [];
  let over = false;
  const client = (async () => {
    do {
      const answer = await send(router.port, path, callOf('meanwhile'), session);
      assert.equal(answer.json?.result?.content?.[0]?.text, 'meanwhile', answer.text.slice(0, 300));
      latencies.push(answer.ms);
      await new Promise((resolve) => setTimeout(resolve, 10));
    } while (!over);
  })();
  try {
    return { outcome: await work(), latencies };
  } finally {
    over = true;
    await client;
    latencies.sort((left, right) => left - right);
  }
}
