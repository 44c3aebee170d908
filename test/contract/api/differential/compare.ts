import { isDeepStrictEqual } from 'node:util';
import type { Server } from '../servers.ts';
import { createBench } from '../suite.ts';
import { normalOf } from './normal.ts';
import { type Request, show } from './request.ts';
import { collectionsOf, runSequence } from './run.ts';

/** Where two servers answered differently. */
export interface Difference {
  /** The request, or what was looked at after the last one. */
  readonly at: string;
  readonly answers: readonly [unknown, unknown];
}

/** Runs a sequence on both servers at once and returns the first difference, if there is one. */
export async function findDifference(
  servers: readonly [Server, Server],
  sequence: readonly Request[],
): Promise<Difference | undefined> {
  const [left, right] = await Promise.all(
    servers.map(async (server) => {
      const namespace = await createBench(server).namespace();
      return normalOf(await runSequence(server.client, namespace, sequence));
    }),
  );
  if (left === undefined || right === undefined) throw new Error('two servers, two outcomes');
  const collections = collectionsOf(sequence);
  for (const [index, answer] of left.answers.entries()) {
    const other = right.answers[index];
    if (isDeepStrictEqual(answer, other)) continue;
    const request = sequence[index];
    const at = request === undefined ? `the list of ${collections[index - sequence.length]}` : show(request);
    return { at, answers: [answer, other] };
  }
  for (const plural of collections)
    if (!isDeepStrictEqual(left.events[plural], right.events[plural]))
      return { at: `the watch of ${plural}`, answers: [left.events[plural], right.events[plural]] };
  return undefined;
}
