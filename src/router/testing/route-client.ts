import type { TestContext } from 'node:test';
import type { RouteSpecInput } from '#api/route.ts';
import { routeNamed } from '#routing/testing.ts';
import type { FakeAgentOptions } from './fake-state.ts';
import { agentOf, startTestRouter, type TestRouter } from './harness.ts';
import { openSession, post, type Reply, request, stateless } from './mcp-client.ts';

export interface RouteClient {
  readonly router: TestRouter;
  readonly path: string;
  readonly headers: Record<string, string>;
  /** In the sessions era. */
  send(method: string, params?: object): Promise<Reply>;
  /** In the stateless era. */
  ask(method: string, params?: Record<string, unknown>): Promise<Reply>;
}

/** A client of a Route over these agents, at /team/mcp. */
export async function clientOfRoute(
  t: TestContext,
  agents: readonly Omit<FakeAgentOptions, 'master'>[],
  spec: Partial<RouteSpecInput> = {},
  options: Parameters<typeof startTestRouter>[2] = {},
): Promise<RouteClient> {
  const router = await startTestRouter(t, agents, options);
  router.tables.set(
    router.agents.map((agent) => agentOf(agent)),
    [routeNamed('team', { selector: {}, paths: ['/team'], mcp: {}, ...spec })],
  );
  const path = '/team/mcp';
  const headers = await openSession(router, path);
  return {
    ...{ router, path, headers },
    send: (method, params) => post(router, request(method, params), { path, headers }),
    ask: (method, params = {}) => stateless(router, method, params, { path }),
  };
}
