import { isObject } from '#kit/json.ts';
import { errorCodes, type Params, RpcError } from '#mcp/jsonrpc.ts';
import { type LimitedItem, wholeOf } from '#routing/limits.ts';
import { isDenied, passes, renamedBack } from '#routing/names-filter.ts';
import { hasName } from '#routing/sorted-names.ts';
import type { McpSurface } from '#routing/surface.ts';
import { qualifiesUris } from '#routing/uri-rules.ts';
import { readQualifiedUri } from '#routing/uris.ts';
import type { AuthRefused } from '../auth/authenticator.ts';
import { allowedKind, isLimited, isLinked, type LimitedSurface, linkedUi } from '../catalog/limit-view.ts';
import type { ListKind } from '../catalog/list-kinds.ts';
import { filterOf } from '../catalog/merge-parts.ts';
import { templateStartsOf } from '../catalog/template-starts.ts';
import type { View, ViewItem } from '../catalog/view.ts';
import { RouterError } from '../errors.ts';
import type { Services } from '../services.ts';
import { exposeFor } from './answer-uris.ts';
import { missingScopes } from './missing-scopes.ts';

/** What it takes to find an owner. */
export type Lists = Pick<Services, 'views' | 'clock'>;

/** Who owns a name, and what the owner calls it. */
export interface Owner {
  readonly agent: string;
  readonly name: string;
}

/** When a list is not fresh but an older one knows the name, waiting for the fresh one is worth this long. */
const graceMs = 100;

/**
 * The owner of a tool, prompt or resource that clients call `name`; `wanted` narrows it to one agent. Answers at
 * once when the list is there. Throws or rejects with RouterError `NotFound` or `Ambiguous`, and with AuthRefused where
 * only scopes are missing.
 */
export function locate(
  services: Lists,
  surface: McpSurface,
  kind: ListKind,
  name: string,
  wanted?: string,
): Owner | Promise<Owner> {
  const ownerIn = (view: View) => {
    const found = findIn(view, name, wanted);
    if (found !== undefined) return found;
    throw (
      scopesMissingFor(services, surface, kind, name, wanted) ?? notFound(view, surface, kind, name, wanted)
    );
  };
  const current = services.views.current(surface, kind);
  return current === undefined
    ? freshView(services, surface, kind, name, wanted).then(ownerIn)
    : ownerIn(current);
}

/** Of an item that the surface has, and not for this caller. */
function scopesMissingFor(
  { views }: Lists,
  surface: McpSurface,
  kind: ListKind,
  name: string,
  wanted: string | undefined,
): AuthRefused | undefined {
  if (!isLimited(surface)) return undefined;
  const whole = views.last(surface.limits.whole, kind);
  return whole && missingScopes(surface, allowedKind(kind), findIn(whole, name, wanted));
}

async function freshView(
  services: Lists,
  surface: McpSurface,
  kind: ListKind,
  name: string,
  wanted: string | undefined,
): Promise<View> {
  const fresh = services.views.of(surface, kind);
  const last = services.views.last(surface, kind);
  const known = last?.byExposed.has(name) ? findIn(last, name, wanted) : undefined;
  if (last === undefined || known === undefined || !isOf(surface, kind, known)) return fresh;
  return within(services, fresh, last);
}

/** The last list may be one of the place's Route as it was before: it may show what is shown no more. */
function isOf(surface: McpSurface, kind: ListKind, { agent, name }: ViewItem): boolean {
  return hasName(surface.agents, agent) && passes(name, filterOf(surface, kind));
}

/** The fresh view if it comes soon, else `last`. */
async function within({ clock }: Lists, fresh: Promise<View>, last: View): Promise<View> {
  const { promise, resolve } = Promise.withResolvers<View>();
  const cancel = clock.after(graceMs, () => resolve(last));
  fresh.then(resolve, () => resolve(last)).finally(cancel);
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

/**
 * The owner of a URI: whom it names, else who lists it, else who has the template with the longest literal
 * beginning, else the only agent. Throws RouterError `NotFound` or `Ambiguous`, and AuthRefused where only scopes are
 * missing.
 */
export async function locateUri(
  services: Lists,
  surface: McpSurface,
  uri: string,
  wanted?: string,
): Promise<Owner> {
  const owner = await ownerOfUri(services, surface, uri, wanted);
  if (isLimited(surface)) await refuseUri(services, surface, uri, owner);
  return owner;
}

/** Whatever way it was found: of what rules say, the URI itself counts, as this surface calls it. */
async function refuseUri(services: Lists, surface: LimitedSurface, uri: string, owner: Owner): Promise<void> {
  const item = await itemOf(services, surface, owner);
  if (await isPermitted(services, surface, item)) return;
  throw (
    missingScopes(surface, 'resources', item) ??
    new RouterError('NotFound', `resource '${uri}' was not found`)
  );
}

/** Whether rules let the caller of the surface have a resource that was found before. */
export async function permitsUri(services: Lists, surface: McpSurface, owner: Owner): Promise<boolean> {
  return !isLimited(surface) || isPermitted(services, surface, await itemOf(services, surface, owner));
}

async function itemOf(
  services: Lists,
  surface: LimitedSurface,
  { agent, name }: Owner,
): Promise<LimitedItem> {
  const expose = await exposeFor(services, surface, agent);
  return { agent, name, exposed: expose?.(name) ?? name };
}

async function isPermitted(services: Lists, surface: LimitedSurface, item: LimitedItem): Promise<boolean> {
  if (surface.limits.permits('resources', item)) return true;
  const tools = await services.views.of(surface.limits.whole, 'tools');
  return isLinked(surface, linkedUi(surface, tools), item);
}

async function ownerOfUri(
  services: Lists,
  surface: McpSurface,
  uri: string,
  wanted: string | undefined,
): Promise<Owner> {
  const named = qualifiesUris(surface) ? ownerNamedBy(surface, uri, wanted) : undefined;
  if (named !== undefined && (await isShown(services, surface, named))) return named;
  const listed = await locateListed(services, surface, uri, wanted);
  if (listed !== undefined) return listed;
  const templates = await services.views.of(wholeOf(surface), 'templates');
  const owner = ownerByTemplate(templates, surface, uri, wanted) ?? onlyAgent(surface, uri);
  if (owner === undefined) throw new RouterError('NotFound', `resource '${uri}' was not found`);
  return owner;
}

function ownerNamedBy(surface: McpSurface, uri: string, wanted: string | undefined): Owner | undefined {
  const named = readQualifiedUri(uri);
  if (named === undefined || !hasName(surface.agents, named.agent)) return undefined;
  if (wanted !== undefined && wanted !== named.agent) return undefined;
  const name = renamedBack({ agent: named.agent, name: named.uri }, surface.resources);
  return { agent: named.agent, name };
}

/** Without a filter no list is needed for a URI that says whose it is: it may as well be one that no list has. */
async function isShown(services: Lists, surface: McpSurface, { agent, name }: Owner): Promise<boolean> {
  if (isDenied(name, surface.resources)) return false;
  if (passes(name, surface.resources)) return true;
  const templates = await services.views.of(wholeOf(surface), 'templates');
  return templateStartsOf(templates).isOf(agent, name);
}

function ownerByTemplate(
  templates: View,
  surface: McpSurface,
  uri: string,
  wanted: string | undefined,
): Owner | undefined {
  const isMeant = ({ agent }: ViewItem) =>
    hasName(surface.agents, agent) && (wanted === undefined || agent === wanted);
  const best = templateStartsOf(templates).longest(uri, isMeant);
  if (best === undefined) return undefined;
  const name = renamedBack({ agent: best.agent, name: uri }, surface.resources);
  return isDenied(name, surface.resources) ? undefined : { agent: best.agent, name };
}

/** Resources need not be listed; behind one agent there is no question whose they are. */
function onlyAgent(surface: McpSurface, uri: string): Owner | undefined {
  const { agents } = wholeOf(surface);
  const [agent] = agents;
  if (agent === undefined || agents.length > 1 || !hasName(surface.agents, agent)) return undefined;
  const name = renamedBack({ agent, name: uri }, surface.resources);
  return passes(name, surface.resources) ? { agent, name } : undefined;
}

async function locateListed(
  services: Lists,
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

/** A string member of params that a method cannot do without. */
export function requiredText(params: Params, member: string): string {
  const value = params[member];
  if (typeof value === 'string' && value !== '') return value;
  throw new RpcError(errorCodes.invalidParams, `Invalid params: "${member}" must be a string`);
}
