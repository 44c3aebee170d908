/** What agents list. */
export type ListKind = 'tools' | 'resources' | 'templates' | 'prompts';

/** What agents are asked for: lists, and what they say of themselves. */
export type CatalogKind = ListKind | 'about';

export type Item = Readonly<Record<string, unknown>>;

interface KindFacts {
  readonly method: string;
  /** Member of the result that holds the items. */
  readonly member: string;
  /** Member of an item that names it. */
  readonly key: string;
}

export const listKinds: Readonly<Record<ListKind, KindFacts>> = {
  tools: { method: 'tools/list', member: 'tools', key: 'name' },
  resources: { method: 'resources/list', member: 'resources', key: 'uri' },
  templates: { method: 'resources/templates/list', member: 'resourceTemplates', key: 'uriTemplate' },
  prompts: { method: 'prompts/list', member: 'prompts', key: 'name' },
};

export function kindOfMethod(method: string): ListKind | undefined {
  return byMethod.get(method);
}

const byMethod = new Map(
  (Object.keys(listKinds) as ListKind[]).map((kind) => [listKinds[kind].method, kind] as const),
);
