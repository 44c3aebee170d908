import { isObject } from '#kit/json.ts';
import { firstStatelessRevision, statelessRevisions } from '#mcp/eras.ts';
import { errorCodes, RpcError } from '#mcp/jsonrpc.ts';
import { wrapResult } from '#mcp/results.ts';
import { isLogLevel } from '#mcp/types.ts';
import type { McpSurface } from '#routing/surface.ts';
import { kindOfMethod, type ListKind, listKinds } from '../catalog/list-kinds.ts';
import type { View } from '../catalog/view.ts';
import { routerTools, showsSearch } from '../search/router-tools.ts';
import type { Services } from '../services.ts';
import { collect } from '../upstream/collect.ts';
import { callWith } from './agent-call.ts';
import { aggregateCapabilities, aggregateInstructions } from './aggregate-info.ts';
import { exposeFor } from './answer-uris.ts';
import { deadlineOf, refusePart } from './backends.ts';
import { callTool } from './call-tool.ts';
import type { Speaker } from './inbound.ts';
import { locate, locateUri, requiredText, wantedAgent } from './locate.ts';
import { type AggregateRequest, type Outcome, relayTo, serverInfo } from './outcome.ts';
import { aboutTask } from './tasks.ts';

type Handler = (services: Services, request: AggregateRequest) => Outcome | Promise<Outcome>;

/**
 * Answers a request to several agents as if they were one. Lists come from the cache; a call goes to the
 * agent that owns the name. Throws or rejects with RpcError (`methodNotFound` for what an aggregate cannot do) and
 * RouterError.
 */
export function answerAggregate(services: Services, request: AggregateRequest): Outcome | Promise<Outcome> {
  const { method } = request.message;
  const handlers = request.speaker.era === 'sessions' ? sessionHandlers : statelessHandlers;
  const handler = handlers.get(method);
  if (handler !== undefined) return handler(services, request);
  throw new RpcError(errorCodes.methodNotFound, `Method not found: ${method}`);
}

/** Waits only for a list that is not there. */
const list: Handler = (services, { surface, speaker, message }) => {
  const kind = kindOfMethod(message.method);
  if (kind === undefined)
    throw new RpcError(errorCodes.methodNotFound, `Method not found: ${message.method}`);
  if (message.params?.['cursor'] !== undefined) {
    throw new RpcError(errorCodes.invalidParams, 'Invalid params: unknown cursor; the list has one page');
  }
  const answer = (view: View): Outcome => {
    refusePart(surface, view);
    return { kind: 'result', text: listText(services, { view, kind, surface, era: speaker.era }) };
  };
  const known = services.views.current(surface, kind);
  return known === undefined ? services.views.of(surface, kind).then(answer) : answer(known);
};

interface Listing {
  readonly view: View;
  readonly kind: ListKind;
  readonly surface: McpSurface;
  readonly era: Speaker['era'];
}

/** A list costs its serialisation once, not once a request. */
function listText(services: Services, { view, kind, surface, era }: Listing): string {
  const known = view.memo.get(era);
  if (known !== undefined) return known;
  const searched = kind === 'tools' && showsSearch(surface, view);
  const { method, member } = listKinds[kind];
  const notes = listNotes(view);
  const result = {
    [member]: searched ? routerTools(view) : view.items.map((entry) => entry.item),
    ...(Object.keys(notes).length > 0 && { _meta: notes }),
  };
  const ttlMs = view.errors.length > 0 ? 0 : 5_000;
  const cacheScope = cacheScopeOf(surface);
  const wrapped = wrapResult(era, method, result, serverInfo(services), { ttlMs, cacheScope });
  const text = JSON.stringify(wrapped);
  view.memo.set(era, text);
  return text;
}

/** What not everybody is told may be kept for who was told it alone. */
function cacheScopeOf({ access, limits }: McpSurface): 'public' | 'private' {
  return access === undefined && limits === undefined ? 'public' : 'private';
}

/** Agents that are missing from a list and names that several have. */
function listNotes(view: View): Record<string, unknown> {
  return {
    ...(view.errors.length > 0 && { 'ploinky.dev/errors': view.errors }),
    ...(view.conflicts.size > 0 && { 'ploinky.dev/conflicts': Object.fromEntries(view.conflicts) }),
  };
}

const getPrompt: Handler = async (services, request) => {
  const params = request.message.params ?? {};
  const name = requiredText(params, 'name');
  const owner = await locate(services, request.surface, 'prompts', name, wantedAgent(params));
  const expose = await exposeFor(services, request.surface, owner.agent);
  return relayTo(
    request,
    owner.agent,
    owner.name === name ? params : { ...params, name: owner.name },
    expose,
  );
};

/** To whom the URI belongs, in that agent's words; what it answers about this URI speaks of it as the client did. */
const aboutResource: Handler = async (services, request) => {
  const params = request.message.params ?? {};
  const uri = requiredText(params, 'uri');
  const { agent, name } = await locateUri(services, request.surface, uri, wantedAgent(params));
  const others = await exposeFor(services, request.surface, agent);
  if (name === uri) return relayTo(request, agent, params, others);
  const expose = (own: string) => (own === name ? uri : (others?.(own) ?? own));
  return relayTo(request, agent, { ...params, uri: name }, expose);
};

const complete: Handler = async (services, request) => {
  const params = request.message.params ?? {};
  const ref = isObject(params['ref']) ? params['ref'] : {};
  if (ref['type'] === 'ref/resource') {
    const uri = requiredText(ref, 'uri');
    const templates = await services.views.of(request.surface, 'templates');
    const { agent, name } = templates.byExposed.get(uri) ?? (await locateUri(services, request.surface, uri));
    return relayTo(request, agent, name === uri ? params : { ...params, ref: { ...ref, uri: name } });
  }
  const name = requiredText(ref, 'name');
  const owner = await locate(services, request.surface, 'prompts', name);
  return relayTo(request, owner.agent, { ...params, ref: { ...ref, name: owner.name } });
};

const pong: Handler = async () => ({ kind: 'result', text: '{}' });

/** Every agent that is there is told; one that is not, or starts later, keeps its own level. */
const setLevel: Handler = async (services, { surface, speaker, message, headers }) => {
  if (!isLogLevel(message.params?.['level'])) {
    throw new RpcError(errorCodes.invalidParams, 'Invalid params: "level" must be a log level');
  }
  const { targets } = services.tables.current();
  const there = surface.agents.filter(
    (name) => targets.get(`${surface.namespace}/${name}`)?.unavailable === undefined,
  );
  const maxBytes = services.limits.answerBytes;
  const calls = there.map((agent) => {
    const call = callWith(`${surface.namespace}/${agent}`, message, { speaker, headers });
    return collect(
      services.sender,
      { ...call, silenceMs: deadlineOf(services, surface), readyWaitMs: 0 },
      { maxBytes },
    );
  });
  await Promise.allSettled(calls);
  return { kind: 'result', text: '{}' };
};

const discover: Handler = async (services, { message, surface }) => {
  const about = await services.abouts.of(surface);
  const result = {
    supportedVersions: [...statelessRevisions],
    capabilities: aggregateCapabilities(about, firstStatelessRevision),
    instructions: aggregateInstructions(surface, about, services.limits.mergedInstructionsChars),
  };
  const hint = { ttlMs: 60_000, cacheScope: cacheScopeOf(surface) };
  return {
    kind: 'result',
    text: JSON.stringify(wrapResult('stateless', message.method, result, serverInfo(services), hint)),
  };
};

const commonHandlers: [string, Handler][] = [
  ['tools/list', list],
  ['resources/list', list],
  ['resources/templates/list', list],
  ['prompts/list', list],
  ['tools/call', callTool],
  ['prompts/get', getPrompt],
  ['resources/read', aboutResource],
  ['completion/complete', complete],
  ['tasks/get', aboutTask],
  ['tasks/cancel', aboutTask],
];
const sessionHandlers = new Map([
  ...commonHandlers,
  ['ping', pong],
  ['logging/setLevel', setLevel],
  ['resources/subscribe', aboutResource],
  ['resources/unsubscribe', aboutResource],
  ['tasks/result', aboutTask],
] as const);
const statelessHandlers = new Map([
  ...commonHandlers,
  ['server/discover', discover],
  ['tasks/update', aboutTask],
] as const);
