import type { Named } from './names-filter.ts';
import { type Exposures, groupByName } from './naming.ts';
import type { Naming } from './surface.ts';

/**
 * A URI (or a template of one) that says whose it is, and can be read back: `ploinky://<agent>/<uri>`. `ui://`
 * keeps its scheme, by which hosts know what it is: `ui://<agent>.ploinky/<rest>`.
 */
export function qualifyUri(agent: string, uri: string): string {
  return uri.startsWith('ui://') ? `ui://${agent}.ploinky/${uri.slice(5)}` : `ploinky://${agent}/${uri}`;
}

export interface QualifiedUri {
  readonly agent: string;
  /** As the agent says it, unless a Route renames it. */
  readonly uri: string;
}

/** The way back of `qualifyUri`; undefined for every other URI. */
export function readQualifiedUri(uri: string): QualifiedUri | undefined {
  const [, agent = '', rest = ''] = plain.exec(uri) ?? [];
  if (agent !== '') return { agent, uri: rest };
  const [, uiAgent = '', uiRest = ''] = ui.exec(uri) ?? [];
  return uiAgent === '' ? undefined : { agent: uiAgent, uri: `ui://${uiRest}` };
}

const plain = /^ploinky:\/\/([a-z0-9-]+)\/(.*)$/s;
const ui = /^ui:\/\/([a-z0-9-]+)\.ploinky\/(.*)$/s;

/**
 * The URIs or templates that clients see. `Conflict`: qualified where two agents have the same, and where one looks
 * qualified already; `Always`: qualified; `Never`: as they are, and the first agent by name wins. Templates are the
 * same when they begin alike: nobody could tell whose an expanded one is.
 */
export function exposeUris(items: readonly Named[], naming: Naming): Exposures {
  const owners = groupByName(items.map(({ agent, name }) => ({ agent, name: literalStart(name) })));
  const shared = (name: string) => (owners.get(literalStart(name))?.length ?? 0) > 1;
  const conflicts = new Map(
    items
      .filter(({ name }) => shared(name))
      .map(({ name }) => [name, owners.get(literalStart(name)) ?? []] as const),
  );
  if (naming === 'Never') {
    const first = items.filter(({ agent, name }) => owners.get(literalStart(name))?.[0] === agent);
    return { items: first.map((item) => ({ ...item, exposed: item.name })), conflicts };
  }
  const isQualified = (name: string) =>
    naming === 'Always' || shared(name) || readQualifiedUri(name) !== undefined;
  const named = items.map((item) => ({
    ...item,
    exposed: isQualified(item.name) ? qualifyUri(item.agent, item.name) : item.name,
  }));
  return { items: named, conflicts };
}

/** What a URI template (RFC 6570) says before its first expression; all of a URI. */
export function literalStart(template: string): string {
  const brace = template.indexOf('{');
  return brace < 0 ? template : template.slice(0, brace);
}
