const joiner = String.raw`[\u200C\u200D\uFE00-\uFE0F]`;

/**
 * Characters that a person does not see and a model reads: controls, terminal escapes, marks that change the
 * direction of text, tags, invisible operators. Tools that hide instructions in their descriptions use them.
 * Line breaks and tabs are none. Joiners and variation selectors, which scripts and emoji need, count only where
 * they stand in a row or behind ASCII.
 */
const patterns = [
  // Terminal escapes as a whole, so that no "[31m" stays behind.
  String.raw`\u001B\[[0-?]*[ -/]*[@-~]`,
  String.raw`[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F]`,
  // Directions.
  String.raw`[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]`,
  // Without width.
  String.raw`[\u00AD\u115F\u1160\u180B-\u180F\u200B\u2060-\u2065\u206A-\u206F\u3164\uFEFF\uFFA0\uFFF9-\uFFFB]`,
  // Tags, the further variation selectors, and lone surrogates.
  String.raw`[\u{E0000}-\u{E0FFF}\u{D800}-\u{DFFF}]`,
  // Joiners and selectors: behind ASCII, and beyond one selector and one joiner behind anything else. A row of them
  // is taken lazily: a greedy one of millions overflows the stack.
  String.raw`(?<=^|[\u0000-\u007F])${joiner}+?(?!${joiner})`,
  String.raw`(?<=[^\u0000-\u007F\u200C\u200D\uFE00-\uFE0F][\uFE00-\uFE0F]?[\u200C\u200D])${joiner}+?(?!${joiner})`,
  String.raw`(?<=[^\u0000-\u007F\u200C\u200D\uFE00-\uFE0F][\uFE00-\uFE0F])[\uFE00-\uFE0F]${joiner}*?(?!${joiner})`,
].join('|');
const hidden = new RegExp(patterns, 'u');
const everyHidden = new RegExp(patterns, 'gu');

/** Almost all text is, and this is found out in a tenth of the time. */
const plain = /^[\t\n\r -~]*$/;

export function hasHiddenText(text: string): boolean {
  return !plain.test(text) && hidden.test(text);
}

/** The same string when nothing is hidden in it. */
export function withoutHiddenText(text: string): string {
  return hasHiddenText(text) ? text.replace(everyHidden, '') : text;
}

/** Members of what agents list that people and models read as prose, at any depth. */
const prose: ReadonlySet<string> = new Set(['title', 'description']);
/** Deeper than any schema that somebody wrote. */
const mostDepth = 64;

/**
 * A listed item with the prose of it, its schemas and its arguments cleaned; its `name` is left as it is. The same
 * object when there was nothing to clean.
 */
export function cleanItem<T>(item: T, depth = 0): T {
  if (typeof item !== 'object' || item === null || depth > mostDepth) return item;
  if (Array.isArray(item)) {
    const cleaned = item.map((entry) => cleanItem(entry, depth + 1));
    return (cleaned.some((entry, index) => entry !== item[index]) ? cleaned : item) as T;
  }
  let changed: Record<string, unknown> | undefined;
  for (const [key, value] of Object.entries(item)) {
    const cleaned =
      typeof value === 'string'
        ? prose.has(key)
          ? withoutHiddenText(value)
          : value
        : cleanItem(value, depth + 1);
    if (cleaned === value) continue;
    changed = { ...(changed ?? (item as Record<string, unknown>)), [key]: cleaned };
  }
  return (changed ?? item) as T;
}

/** True when `cleanItem` or the name's own rules would take something away. */
export function hidesText(
  item: Readonly<Record<string, unknown>>,
  clean: (item: Readonly<Record<string, unknown>>) => unknown = cleanItem,
): boolean {
  const { name } = item;
  return (typeof name === 'string' && hasHiddenText(name)) || clean(item) !== item;
}
