import { type Agent, agentSpecSchema } from '#api/agent.ts';
import { type Route, type RouteSpecInput, routeSpecSchema } from '#api/route.ts';

/** Builders for tests of routing and of the router; nothing in the product imports them. */

export interface AgentOptions {
  readonly namespace?: string;
  readonly uid?: string;
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  readonly created?: string;
  readonly status?: Agent['status'];
}

export function agentNamed(name: string, options: AgentOptions = {}): Agent {
  const { namespace = 'default', labels, annotations } = options;
  return {
    apiVersion: 'ploinky.dev/v1alpha1',
    kind: 'Agent',
    metadata: {
      name,
      namespace,
      uid: options.uid ?? `uid-${namespace}-${name}`,
      creationTimestamp: options.created ?? '2026-01-01T00:00:00Z',
      ...(labels && { labels }),
      ...(annotations && { annotations }),
    },
    spec: agentSpecSchema.parse({}),
    ...(options.status && { status: options.status }),
  };
}

export function routeNamed(
  name: string,
  spec: RouteSpecInput,
  options: { readonly namespace?: string; readonly created?: string } = {},
): Route {
  const { namespace = 'default', created = '2026-01-01T00:00:00Z' } = options;
  return {
    apiVersion: 'ploinky.dev/v1alpha1',
    kind: 'Route',
    metadata: { name, namespace, uid: `uid-${namespace}-${name}`, creationTimestamp: created },
    spec: routeSpecSchema.parse(spec),
  };
}
