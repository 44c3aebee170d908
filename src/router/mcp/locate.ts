import { isObject } from '#kit/json.ts';
import { errorCodes, type Params, RpcError } from '#mcp/jsonrpc.ts';
import type { McpSurface } from '#routing/surface.ts';
import type { ListKind } from '../catalog/list-kinds.ts';
import type { View, ViewItem } from '../catalog/views.ts';
import { RouterError } from '../errors.ts';
import type { Services } from '../services.ts';

/** Who owns a name, and what the owner calls it. */
export interface Owner {
  readonly agent: string;
  readonly name: string;
}

/** When a list is not fresh but an older one knows the name, waiting for the fresh one is worth this long. */
const graceMs = 100;

/**
 * The owner of a tool, prompt or resource that clients call `name`; `wanted` narrows it to one agent. Answers at
 * once when the list is there. Throws or rejects with RouterError `NotFound` or `Ambiguous`.
 */
export function locate(
  services: Services,
  surface: McpSurface,
  kind: ListKind,
  name: string,
  wanted?: string,
): Owner | Promise<Owner> {
  const ownerIn = (view: View) => {
    const found = findIn(view, name, wanted);
    if (found !== undefined) return found;
    throw notFound(view, surface, kind, name, wanted);
  };
  const current = services.views.current(surface, kind);
  return current === undefined ? freshView(services, surface, kind, name).then(ownerIn) : ownerIn(current);
}

async function freshView(
  services: Services,
  surface: McpSurface,
  kind: ListKind,
  name: string,
): Promise<View> {
  const fresh = services.views.of(surface, kind);
  const last = services.views.last(surface, kind);
  if (last === undefined || !last.byExposed.has(name)) return fresh;
  const { promise, resolve } = Promise.withResolvers<View>();
  const cancel = services.clock.after(graceMs, () => resolve(last));
  fresh.then(resolve).finally(cancel);
  return promise;
}

function findIn(view: View, name: string, wanted: string | undefined): ViewItem | undefined {
  const exact = view.byExposed.get(name);
  if (wanted === undefined) return exact;
  if (exact?.agent === wanted) return exact;
  return [...view.byExposed.values()].find((item) => item.agent === wanted && item.name === name);
}

function notFound(
  view: View,
  surface: McpSurface,
  kind: ListKind,
  name: string,
  wanted: string | undefined,
): RouterError {
  const noun = kind === 'tools' ? 'tool' : kind === 'prompts' ? 'prompt' : 'resource';
  if (wanted !== undefined && !surface.agents.includes(wanted)) {
    return new RouterError('NotFound', `agent '${wanted}' is not registered`);
  }
  const owners = view.conflicts.get(name);
  if (wanted === undefined && owners !== undefined) {
    const message = `${noun} '${name}' is provided by multiple agents`;
    return new RouterError('Ambiguous', message, { agents: owners });
  }
  const silent = view.errors.map((error) => error.agent);
  return new RouterError('NotFound', `${noun} '${name}' was not found`, { agents: silent });
}

/** The agent that a client names beside the tool: `params.agent` or `params._meta.router.agent`. */
export function wantedAgent(params: Params): string | undefined {
  const meta = isObject(params['_meta']) ? params['_meta']['router'] : undefined;
  const named = isObject(meta) ? meta['agent'] : params['agent'];
  return typeof named === 'string' ? named : undefined;
}

/** The owner of a URI: who lists it, else who has the template with the longest literal beginning. */
export async function locateUri(
  services: Services,
  surface: McpSurface,
  uri: string,
  wanted?: string,
): Promise<Owner> {
  const listed = await locateListed(services, surface, uri, wanted);
  if (listed !== undefined) return listed;
  const templates = await services.views.of(surface, 'templates');
  let best: ViewItem | undefined;
  for (const item of templates.byExposed.values()) {
    if (wanted !== undefined && item.agent !== wanted) continue;
    const literal = literalStart(item.name);
    if (uri.startsWith(literal) && literal.length > literalStart(best?.name ?? '').length) best = item;
  }
  if (best === undefined) throw new RouterError('NotFound', `resource '${uri}' was not found`);
  return { agent: best.agent, name: uri };
}

async function locateListed(
  services: Services,
  surface: McpSurface,
  uri: string,
  wanted: string | undefined,
): Promise<Owner | undefined> {
  try {
    return await locate(services, surface, 'resources', uri, wanted);
  } catch (error) {
    if (error instanceof RouterError && error.code === 'NotFound') return undefined;
    throw error;
  }
}

/** What a URI template (RFC 6570) says before its first expression. */
function literalStart(template: string): string {
  const brace = template.indexOf('{');
  return brace < 0 ? template : template.slice(0, brace);
}

/** A string member of params that a method cannot do without. */
export function requiredText(params: Params, member: string): string {
  const value = params[member];
  if (typeof value === 'string' && value !== '') return value;
  throw new RpcError(errorCodes.invalidParams, `Invalid params: "${member}" must be a string`);
}
