import { routeResource } from '#api/resources.ts';
import type { Route } from '#api/route.ts';
import { type Scope, until } from '../harness/scope.ts';
import { Caller, Tally } from './caller.ts';
import { type FaultGround, openFaultGround, untilReady } from './ground.ts';

export interface ChurnOrder {
  readonly calls: number;
  readonly changes: number;
  readonly connections: number;
}

export interface ChurnOutcome {
  readonly tally: Tally;
  readonly runs: number;
  readonly texts: number;
  /** Changes that were made while calls ran. */
  readonly changes: number;
  readonly seconds: number;
  /** Milliseconds from the last change to its being served. */
  readonly lastServedMs: number;
}

const paths = ['/mcp', '/mcps/faults/mcp', '/team/mcp'];
const churning = 20;

/** Routes come, change and go while clients call through one that changes, too, and through paths beside it. */
export async function runChurn(scope: Scope, order: ChurnOrder): Promise<ChurnOutcome> {
  const ground = await openFaultGround(scope);
  await ground.api.client.create<Route>(routeResource, teamRoute());
  await ground.startRouter();
  await untilReady(ground.port);
  await until('the Route is served', () => answers(ground.port, '/team/mcp'));
  const tally = new Tally();
  const callers: Caller[] = [];
  for (let index = 0; index < order.connections; index += 1) {
    const path = paths[index % paths.length] ?? '/mcp';
    const caller = new Caller({ port: ground.port, path, tally, resend: false });
    await caller.open();
    callers.push(caller);
  }
  const begun = performance.now();
  let left = order.calls;
  const load = Promise.all(
    callers.map(async (caller) => {
      while (left > 0) {
        left -= 1;
        await caller.call(`call ${left}`);
      }
    }),
  );
  const changes = await changeRoutes(ground, order, () => order.calls - Math.max(0, left));
  await load;
  const seconds = (performance.now() - begun) / 1000;
  const lastServedMs = await timeChange(ground);
  for (const caller of callers) caller.close();
  return { tally, ...(await ground.count()), changes, seconds, lastServedMs };
}

function teamRoute(): Route {
  return routeOf('team', { selector: {}, paths: ['/team'], mcp: {} });
}

function routeOf(name: string, spec: object): Route {
  return {
    apiVersion: 'ploinky.dev/v1alpha1',
    kind: 'Route',
    metadata: { name, namespace: 'default' },
    spec,
  } as unknown as Route;
}

/** Spread over the calls; one more only when so many of them have begun. */
async function changeRoutes(
  ground: FaultGround,
  { calls, changes }: ChurnOrder,
  begun: () => number,
): Promise<number> {
  for (let change = 0; change < changes; change += 1) {
    const due = (calls * change) / changes;
    await until('so many calls have begun', async () => begun() >= due || undefined, 600_000);
    await changeOne(ground, change);
  }
  return changes;
}

/** Every third change is one of the Route that is called through; the others make, change and delete Routes. */
async function changeOne({ api: { client } }: FaultGround, change: number): Promise<void> {
  const key = (name: string) => ({ name, namespace: 'default' });
  const merge = (spec: object) => ({ type: 'merge', body: { spec } }) as const;
  if (change % 3 === 0) {
    const mcp = {
      tools: { deny: [`hidden-${change}*`], rename: [{ from: `x${change}-*`, to: `y${change}-*` }] },
    };
    await client.patch<Route>(routeResource, key('team'), merge({ mcp }));
    return;
  }
  const number = Math.floor(change / 3);
  const name = `churn-${change % 3}-${number % churning}`;
  const step = Math.floor(number / churning) % 3;
  if (step === 0) {
    const spec = { selector: {}, paths: [`/${name}`], mcp: {} };
    await client.create<Route>(routeResource, routeOf(name, spec));
  } else if (step === 1) {
    await client.patch<Route>(routeResource, key(name), merge({ paths: [`/${name}`, `/${name}-too`] }));
  } else await client.delete(routeResource, key(name));
}

async function timeChange({ api: { client }, port }: FaultGround): Promise<number> {
  const spec = { selector: {}, paths: ['/last'], mcp: {} };
  await client.create<Route>(routeResource, routeOf('last', spec));
  const begun = performance.now();
  await until('the last change is served', () => answers(port, '/last/mcp'));
  return performance.now() - begun;
}

/** Whether an MCP endpoint is there. */
async function answers(port: number, path: string): Promise<true | undefined> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
  });
  await response.text();
  return response.status === 404 ? undefined : true;
}
