import { unimplementedInRoute } from '#api/route/unimplemented.ts';
import type { Route } from '#api/route.ts';
import { digestOf } from '#kit/digest.ts';
import { canonicalJson } from '#kit/json.ts';
import { keyTextOf } from '#kube/key.ts';
import type { Claimant } from './claims.ts';
import { type HostRules, hostRefusal } from './hosts.ts';
import type { Choice } from './roster.ts';
import { surfacesOf } from './route-surfaces.ts';
import { surfaceKey } from './surface.ts';
import type { Verdict } from './verdict.ts';

/** What one Route wants to serve, whatever the others and the Agents do. Its surfaces have no agents. */
export interface RoutePart extends Claimant {
  readonly namespace: string;
  readonly choice: Choice;
  readonly digest: string;
}

/** Pure. Keeps nothing of the Route's status. */
export function partOf(route: Route, rules: HostRules): RoutePart {
  const name = keyTextOf(route);
  const namespace = route.metadata.namespace ?? '';
  const surfaces = surfacesOf(route);
  return {
    name,
    namespace,
    age: `${route.metadata.creationTimestamp ?? ''} ${name}`,
    choice: choiceOf(route),
    surfaces,
    keys: surfaces.map(surfaceKey),
    refusal: refusalOf(route) ?? hostRefusal(namespace, surfaces, rules),
    digest: digestOf(surfaces, 32),
  };
}

function choiceOf({ spec }: Route): Choice {
  if (spec.agents !== undefined) return { agents: spec.agents.map(({ name }) => name).sort() };
  const selector = spec.selector ?? {};
  return { selector, key: canonicalJson(selector) };
}

/** A Route with a field that nothing carries out is not served at all: without it it would say something else. */
function refusalOf(route: Route): Verdict | undefined {
  const fields = unimplementedInRoute(route.spec);
  if (fields.length === 0) return undefined;
  const message = fields.map((field) => `${field.path} ${field.message}.`).join(' ');
  return { ok: false, reason: 'NotImplemented', message };
}
