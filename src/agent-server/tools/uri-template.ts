/** A URI template whose expressions are single variables: `{name}` one segment, `{+name}` and `{name*}` the rest. */
export interface UriTemplate {
  readonly variables: readonly string[];
  /** Values by name, percent-decoded; undefined when the URI is not of this form. */
  match(uri: string): Record<string, string> | undefined;
}

interface Part {
  readonly literal: string;
  readonly variable: string | undefined;
  /** May hold slashes. */
  readonly greedy: boolean;
}

const longestUri = 8192;

/** Compiles a template without a regular expression over the URI: matching takes linear time. */
export function compileUriTemplate(template: string): UriTemplate {
  const parts = splitTemplate(template);
  return {
    variables: parts.flatMap((part) => part.variable ?? []),
    match: (uri) => (uri.length > longestUri ? undefined : matchParts(parts, uri)),
  };
}

function splitTemplate(template: string): Part[] {
  const parts: Part[] = [];
  let rest = template;
  for (;;) {
    const open = rest.indexOf('{');
    const close = rest.indexOf('}', open);
    if (open === -1 || close === -1) return [...parts, { literal: rest, variable: undefined, greedy: false }];
    const expression = rest.slice(open + 1, close);
    const variable = expression.replace(/^[+#./;?&]/, '').replace(/(?:\*|:\d+)$/, '');
    parts.push({ literal: rest.slice(0, open), variable, greedy: /^[+#]|\*$/.test(expression) });
    rest = rest.slice(close + 1);
  }
}

/** Each variable reaches to the first place where the next literal stands; the last one to the end. */
function matchParts(parts: readonly Part[], uri: string): Record<string, string> | undefined {
  const values: Record<string, string> = {};
  let at = 0;
  for (const [index, part] of parts.entries()) {
    if (!uri.startsWith(part.literal, at)) return undefined;
    at += part.literal.length;
    if (part.variable === undefined) continue;
    const next = parts[index + 1];
    const end =
      next === undefined || next.literal === '' ? endOf(uri, at, part, next) : uri.indexOf(next.literal, at);
    const value = decoded(uri.slice(at, end));
    if (end <= at || value === undefined || (!part.greedy && uri.slice(at, end).includes('/')))
      return undefined;
    values[part.variable] = value;
    at = end;
  }
  return at === uri.length ? values : undefined;
}

function endOf(uri: string, at: number, part: Part, next: Part | undefined): number {
  if (part.greedy || next?.variable === undefined) return uri.length;
  const slash = uri.indexOf('/', at);
  return slash === -1 ? uri.length : slash;
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
