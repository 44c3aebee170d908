import type { Params } from '#mcp/jsonrpc.ts';
import type { McpSurface } from '#routing/surface.ts';
import type { View } from '../catalog/view.ts';
import { RouterError } from '../errors.ts';
import { findTools } from '../search/find-tools.ts';
import { innerHeaders, readInnerCall, unknownTool } from '../search/inner-call.ts';
import { findToolName, isRouterTool } from '../search/router-tools.ts';
import { toolError } from '../search/tool-results.ts';
import type { Services } from '../services.ts';
import { exposeFor } from './answer-uris.ts';
import { locate, type Owner, requiredText, wantedAgent } from './locate.ts';
import { type AggregateRequest, type Outcome, ownAnswer, relayTo } from './outcome.ts';
import { tasksOfCall } from './tasks.ts';

/** `tools/call`: to the agent that owns the name, or answered here when it is a tool of the router. */
export function callTool(services: Services, request: AggregateRequest): Outcome | Promise<Outcome> {
  const params = request.message.params ?? {};
  const name = requiredText(params, 'name');
  if (request.surface.searchAbove !== undefined) return callAmongFound(services, request, params, name);
  return callOwner(services, request, params, name);
}

async function callAmongFound(
  services: Services,
  request: AggregateRequest,
  params: Params,
  name: string,
): Promise<Outcome> {
  const view = await toolsView(services, request.surface);
  if (isRouterTool(request.surface, view, name)) return callRouterTool(services, request, params, view);
  return callOwner(services, request, params, name);
}

/** Waits only for a list that is not there: almost every call finds its owner at once. */
function callOwner(
  services: Services,
  request: AggregateRequest,
  params: Params,
  name: string,
): Outcome | Promise<Outcome> {
  const send = (owner: Owner) => {
    const asItIs = owner.name === name && !('agent' in params);
    const sent = asItIs ? params : { ...params, name: owner.name };
    const expose = exposeFor(services, request.surface, owner.agent);
    const tasks = tasksOfCall(request.speaker, params, owner.agent);
    if (!(expose instanceof Promise)) return relayTo(request, owner.agent, sent, expose, tasks);
    return expose.then((known) => relayTo(request, owner.agent, sent, known, tasks));
  };
  const owner = locate(services, request.surface, 'tools', name, wantedAgent(params));
  return owner instanceof Promise ? owner.then(send) : send(owner);
}

/** The list as well as it is known without waiting: good enough to know what a name means. */
async function toolsView({ views }: Services, surface: McpSurface): Promise<View> {
  return (
    views.current(surface, 'tools') ?? views.last(surface, 'tools') ?? (await views.of(surface, 'tools'))
  );
}

async function callRouterTool(
  services: Services,
  request: AggregateRequest,
  params: Params,
  known: View,
): Promise<Outcome> {
  if (params['name'] === findToolName) {
    const view = await services.views.of(request.surface, 'tools');
    return ownAnswer(services, request, findTools(view, params['arguments'], services.limits));
  }
  const inner = readInnerCall(params['arguments']);
  if (typeof inner === 'string') return ownAnswer(services, request, toolError(inner));
  const { arguments: _outer, ...others } = params;
  const called = { ...others, ...(inner.arguments !== undefined && { arguments: inner.arguments }) };
  try {
    return await callInner(services, request, { ...called, name: inner.name }, known);
  } catch (error) {
    const missing = error instanceof RouterError && ['NotFound', 'Ambiguous'].includes(error.code);
    if (!missing) throw error;
    const view = await services.views.of(request.surface, 'tools');
    return ownAnswer(services, request, toolError(unknownTool(view, inner.name)));
  }
}

/** As a direct call of the name; whoever calls in the stateless era could not know the tool's own headers. */
async function callInner(
  services: Services,
  request: AggregateRequest,
  params: Params & { name: string },
  known: View,
): Promise<Outcome> {
  const owner = await locate(services, request.surface, 'tools', params.name, wantedAgent(params));
  const view = services.views.current(request.surface, 'tools') ?? known;
  const headers =
    request.speaker.era === 'sessions'
      ? request.headers
      : innerHeaders(request.headers, inputSchemaOf(view, owner), params['arguments']);
  const expose = await exposeFor(services, request.surface, owner.agent);
  const tasks = tasksOfCall(request.speaker, params, owner.agent);
  return relayTo({ ...request, headers }, owner.agent, { ...params, name: owner.name }, expose, tasks);
}

function inputSchemaOf(view: View, owner: Owner): unknown {
  for (const { agent, name, item } of view.byExposed.values())
    if (agent === owner.agent && name === owner.name) return item['inputSchema'];
  return undefined;
}
