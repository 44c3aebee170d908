import { badRequest } from '../api-error.ts';
import type { Kind } from '../kinds/kind.ts';
import type { ApiObject } from '../object.ts';

export interface FieldSelector {
  matches(object: ApiObject): boolean;
  /** The one name that can match, when the selector says so: a list of one object reads one object. */
  readonly name: string | undefined;
}

const everyKind: Readonly<Record<string, (object: ApiObject) => string>> = {
  'metadata.name': (object) => object.metadata.name ?? '',
  'metadata.namespace': (object) => object.metadata.namespace ?? '',
};

/** Parses the query parameter `fieldSelector`: `path=value`, `path==value`, `path!=value`, joined by commas. Throws 400. */
export function parseFieldSelector(kind: Kind, text: string | undefined): FieldSelector | undefined {
  if (text === undefined || text.trim() === '') return undefined;
  const terms = splitTerms(text).map((term) => parseTerm(kind, term, text));
  return {
    matches: (object) => terms.every((term) => (term.read(object) === term.value) === term.equal),
    name: terms.find((term) => term.path === 'metadata.name' && term.equal)?.value,
  };
}

/** Commas may be escaped with a backslash. */
function splitTerms(text: string): string[] {
  return text.split(/(?<!\\),/).filter((term) => term !== '');
}

function parseTerm(kind: Kind, term: string, whole: string) {
  const match = /^([^=!]+)(==|!=|=)(.*)$/.exec(term);
  if (match === null) throw badRequest(`invalid selector: '${whole}'; can't understand '${term}'`);
  const path = match[1] ?? '';
  const own = kind.strategy.fieldSelectors ?? {};
  const read = Object.hasOwn(everyKind, path)
    ? everyKind[path]
    : Object.hasOwn(own, path)
      ? own[path]
      : undefined;
  if (read === undefined) throw badRequest(`field label not supported: ${path}`);
  return { path, read, equal: match[2] !== '!=', value: (match[3] ?? '').replace(/\\([,=\\])/g, '$1') };
}
