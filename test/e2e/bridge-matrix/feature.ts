import assert from 'node:assert/strict';
import type { Message } from '#agent-server/bridge/testing.ts';
import { type ClientOptions, connect, type MatrixClient } from './client.ts';
import type { Outcome, Way } from './ways.ts';

/** A row of the matrix: something that a client can do with a server. */
export interface Feature {
  readonly name: string;
  /** What is looked at, for readers of the table. */
  readonly what: string;
  /** Does it. Throws when it finds neither what the revision of the client promises nor a documented refusal. */
  exercise(cell: Cell): Promise<Outcome>;
}

export interface Cell {
  readonly way: Way;
  connect(options?: ClientOptions): Promise<MatrixClient>;
}

export function cellOf(way: Way, url: string): Cell {
  return { way, connect: (options) => connect(url, way.client, options) };
}

export const isModern = (revision: string) => revision === '2026-07-28';

/** The result; fails on an error. */
export function resultOf({ result, error }: Message): Record<string, unknown> {
  assert.ok(result !== undefined, `an error: ${JSON.stringify(error)}`);
  return result;
}

/** Its members but those that tell the revisions apart, after a look at these. */
export function plain(message: Message, revision: string): Record<string, unknown> {
  const { resultType, ttlMs, cacheScope, _meta, ...rest } = resultOf(message);
  assert.equal(resultType, isModern(revision) ? 'complete' : undefined, 'resultType is of 2026 alone');
  if (!isModern(revision)) assert.deepEqual([ttlMs, cacheScope], [undefined, undefined], 'hints are of 2026');
  return rest;
}

export const text = (value: string) => [{ type: 'text', text: value }];
