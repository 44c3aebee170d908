import type { McpSurface } from '#routing/surface.ts';
import { type ExposeUri, exposeUriBy, mayRewriteUris } from '#routing/uri-rules.ts';
import { literalStart, readQualifiedUri } from '#routing/uris.ts';
import type { View, ViewItem } from './view.ts';

/** The rules of a surface with these lists; undefined when every URI stays as it is. */
export type UriRules = (surface: McpSurface, resources: View, templates: View) => ExposeUri | undefined;

interface Made {
  readonly surface: McpSurface;
  readonly templates: View;
  readonly rules: ExposeUri | undefined;
}

/** Makes them once for the same lists. */
export function createUriRulesMemo(): UriRules {
  const memo = new WeakMap<View, Made>();
  return (surface, resources, templates) => {
    const known = memo.get(resources);
    if (known !== undefined && known.surface === surface && known.templates === templates) return known.rules;
    const rules = makeRules(surface, resources, templates);
    memo.set(resources, { surface, templates, rules });
    return rules;
  };
}

function makeRules(surface: McpSurface, resources: View, templates: View): ExposeUri | undefined {
  if (!mayRewriteUris(surface)) return undefined;
  const listed = new Map<string, boolean>();
  for (const item of resources.byExposed.values())
    listed.set(`${item.agent} ${item.name}`, isQualified(item));
  const starts = [...templates.byExposed.values()]
    .filter(isQualified)
    .map(({ agent, name }) => ({ agent, start: literalStart(name) }));
  const isSame =
    surface.naming !== 'Always' &&
    (surface.resources?.rename?.length ?? 0) === 0 &&
    starts.length === 0 &&
    ![...listed.values()].includes(true);
  if (isSame) return undefined;
  return exposeUriBy(surface, {
    isQualified: (agent, uri) => listed.get(`${agent} ${uri}`),
    isOfQualifiedTemplate: (agent, uri) =>
      starts.some((template) => template.agent === agent && uri.startsWith(template.start)),
  });
}

function isQualified({ agent, name, exposed }: ViewItem): boolean {
  return exposed !== name && readQualifiedUri(exposed)?.agent === agent;
}
