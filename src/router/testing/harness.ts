import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { type InjectOptions, inject, type Response } from 'light-my-request';
import type { Agent } from '#api/agent.ts';
import type { Route } from '#api/route.ts';
import { systemClock } from '#kit/clock.ts';
import { silentLog } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';
import { buildRoutingTable, type RoutingTable } from '#routing/table.ts';
import { agentNamed } from '#routing/testing.ts';
import { masterKey } from '#wire/testing.ts';
import { buildRouter, type Router, type RouterOptions } from '../app.ts';
import type { TableSource } from '../sources.ts';
import { type FakeAgent, startFakeAgent } from './fake-agent.ts';
import type { FakeAgentOptions } from './fake-state.ts';

export const master = masterKey(1);

/** A table that tests change as the watches would. */
export interface EditableTables extends TableSource {
  set(agents: readonly Agent[], routes?: readonly Route[]): void;
}

export function editableTables(agents: readonly Agent[] = [], routes: readonly Route[] = []): EditableTables {
  const build = (now: readonly Agent[], nowRoutes: readonly Route[]): RoutingTable =>
    buildRoutingTable({ agents: now, routes: nowRoutes, homeNamespace: 'default', hostClaims: {} });
  let table = build(agents, routes);
  const callbacks = new Set<() => void>();
  return {
    synced: true,
    current: () => table,
    subscribe(callback) {
      callbacks.add(callback);
      return () => callbacks.delete(callback);
    },
    set(now, nowRoutes = []) {
      table = build(now, nowRoutes);
      for (const callback of callbacks) callback();
    },
  };
}

/** The Agent object of a running fake agent, as the controller would report it. */
export function agentOf(fake: FakeAgent, change: { digest?: string; ready?: boolean } = {}): Agent {
  const { digest = 'd1', ready = true } = change;
  const endpoint = {
    name: fake.identity.name,
    uid: fake.instance,
    address: fake.address,
    ready,
    terminating: false,
  };
  const status = { endpoints: [endpoint], toolsDigest: digest, conditions: [] };
  return agentNamed(fake.identity.name, { uid: fake.identity.uid, status });
}

export interface TestRouter extends Router {
  readonly tables: EditableTables;
  readonly agents: readonly FakeAgent[];
  /** Sends a request without a connection. */
  readonly inject: (options: InjectOptions) => Promise<Response>;
  /** Starts the router on a loopback port and gives its address. */
  listen(): Promise<string>;
}

/** A router in front of fake agents; everything ends with the test. */
export async function startTestRouter(
  t: TestContext,
  fakes: readonly Omit<FakeAgentOptions, 'master'>[],
  options: Partial<RouterOptions> = {},
): Promise<TestRouter> {
  const agents = await Promise.all(fakes.map((fake) => startFakeAgent({ ...fake, master })));
  const tables = editableTables(agents.map((agent) => agentOf(agent)));
  const router = buildRouter({
    tables,
    keys: { current: () => masters },
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    version: '0.0.0',
    ...options,
  });
  t.after(async () => {
    await router.close();
    await Promise.all(agents.map((agent) => agent.stop()));
  });
  const { handle } = router;
  return {
    ...{ ...router, tables, agents },
    inject: (options) => inject(handle, options),
    listen: () => listenOn(t, router),
  };
}

const masters = [master];

async function listenOn(t: TestContext, { handle }: Router): Promise<string> {
  const server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
