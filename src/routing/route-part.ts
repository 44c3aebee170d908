import type { Route } from '#api/route.ts';
import { unimplementedFields } from '#api/unimplemented.ts';
import { digestOf } from '#kit/digest.ts';
import { oncePerObject } from '#kit/memo.ts';
import { surfacesOf } from './route-surfaces.ts';
import { type Surface, surfaceKey } from './surface.ts';
import type { Verdict } from './verdict.ts';

/** What one Route wants to serve, whatever the others do. */
export interface RoutePart {
  /** Names of the agents that it is made with. */
  readonly agents: readonly string[];
  readonly surfaces: readonly Surface[];
  /** `surfaceKey` of each surface. */
  readonly keys: readonly string[];
  readonly digest: string;
}

/** The newest of each Route: most Routes stay what they are from one table to the next. */
const parts = new WeakMap<Route, RoutePart>();

/** Pure, and computed once for a Route and its agents. */
export function partOf(route: Route, agents: readonly string[]): RoutePart {
  const known = parts.get(route);
  if (known !== undefined && areEqual(known.agents, agents)) return known;
  const surfaces = surfacesOf(route, agents);
  const part = { agents, surfaces, keys: surfaces.map(surfaceKey), digest: digestOf(surfaces, 32) };
  parts.set(route, part);
  return part;
}

function areEqual(left: readonly string[], right: readonly string[]): boolean {
  if (left === right) return true;
  return left.length === right.length && left.every((name, index) => name === right[index]);
}

/** A Route with a field that nothing carries out is not served at all: without it it would say something else. */
export const refusalOf = oncePerObject((route: Route): Verdict | undefined => {
  const fields = unimplementedFields('Route', route.spec);
  if (fields.length === 0) return undefined;
  const message = fields.map((field) => `${field.path} ${field.message}.`).join(' ');
  return { ok: false, reason: 'NotImplemented', message };
});
