import type { ConfigMap, Secret } from '#api/meta.ts';
import { routeResource } from '#api/resources.ts';
import type { Route } from '#api/route.ts';
import type { Log } from '#kit/log.ts';
import type { Random } from '#kit/random.ts';
import type { Client } from '#kube/client.ts';
import { type Controller, createController } from '#kube/controller.ts';
import type { Informer } from '#kube/informer.ts';
import { keyOf, keyText, keyTextOf, type ObjectKey } from '#kube/key.ts';
import type { Metrics } from '#kube/metrics.ts';
import { again, settled } from '#kube/result.ts';
import { informerSource } from '#kube/sources.ts';
import type { RouteVerdict } from '#routing/table.ts';
import { authReferences } from '../auth/controller.ts';
import { authProblemOf, secretsOf } from '../auth/references.ts';
import { createFollower, type FollowerOptions } from './follower.ts';
import { createPatience } from './patience.ts';
import { routeStatus } from './status.ts';

export interface RouteControllerOptions extends FollowerOptions {
  readonly client: Client;
  /** With `routeIndexes` on the informer of Routes, their changes concern those that name them. */
  readonly secrets: Informer<Secret>;
  readonly configMaps: Informer<ConfigMap>;
  readonly random: Random;
  readonly log: Log;
  readonly metrics?: Metrics;
}

const fieldManager = 'ploinky-route-controller';
const secretIndex = 'secret';

/** Routes by the Secrets that their `auth` names. */
export const routeIndexes = {
  [secretIndex]: (route: Route) =>
    secretsOf(askingOf(route)).map((name) => `${route.metadata.namespace ?? ''}/${name}`),
};

function askingOf({ spec, metadata }: Route) {
  return { auth: spec.auth, namespace: metadata.namespace ?? '', name: metadata.name };
}

/** Writes what became of each Route. The routers build the same table from the same objects by themselves. */
export function createRouteController(options: RouteControllerOptions): Controller {
  const { routes, client, clock } = options;
  const follower = createFollower(options);
  const patience = createPatience(clock);
  const references = authReferences(options);
  return createController({
    name: 'route',
    clock,
    random: options.random,
    log: options.log,
    ...(options.metrics && { metrics: options.metrics }),
    sources: [
      follower.source,
      informerSource(options.secrets, {
        keys: ({ object }) => routes.cache.byIndex(secretIndex, keyTextOf(object)).map(keyOf),
      }),
    ],
    async reconcile(key: ObjectKey) {
      const route = routes.cache.get(key);
      if (route === undefined || route.metadata.deletionTimestamp !== undefined) {
        patience.forget(keyText(key));
        return settled;
      }
      const { table, facts, word } = follower.look();
      const found = table.verdicts.get(keyTextOf(route));
      if (found === undefined) return settled;
      const verdict = orNobodyCanLogIn(found, authProblemOf(askingOf(route), references));
      const pauseMs = verdict.accepted.ok ? patience.left(route, facts) : 0;
      if (pauseMs > 0) return again(pauseMs);
      const status = routeStatus(route, verdict, facts, new Date(clock.now()));
      const written = await client.applyStatus<Route>(routeResource, route, status, { fieldManager });
      if (written === route) return settled;
      routes.observe(written);
      patience.forget(keyText(key));
      // Who looked at the Route's status while it was being written saw the old one.
      return follower.look().word === word ? settled : again(0);
    },
  });
}

/** It is served, and asks everybody who they are. */
function orNobodyCanLogIn(verdict: RouteVerdict, problem: string | undefined): RouteVerdict {
  if (problem === undefined || !verdict.resolved.ok) return verdict;
  return { ...verdict, resolved: { ok: false, reason: 'UsersMissing', message: problem } };
}
