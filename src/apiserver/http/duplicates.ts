interface Frame {
  /** Keys so far, for an object; undefined for a list. */
  readonly keys: Set<string> | undefined;
  readonly path: string;
  index: number;
  /** The key whose value comes next. */
  key: string | undefined;
}

/** Paths of members that an object of this valid JSON text has more than once, each named once: `spec.size`. */
export function duplicateFields(text: string): string[] {
  const found = new Set<string>();
  const stack: Frame[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const frame = stack.at(-1);
    switch (text[at]) {
      case '{':
      case '[':
        stack.push({
          keys: text[at] === '{' ? new Set() : undefined,
          path: pathOf(frame),
          index: 0,
          key: undefined,
        });
        break;
      case '}':
      case ']':
        stack.pop();
        break;
      case ',':
        if (frame?.keys === undefined && frame !== undefined) frame.index += 1;
        else if (frame !== undefined) frame.key = undefined;
        break;
      case '"': {
        const end = endOfString(text, at);
        if (frame?.keys !== undefined && frame.key === undefined)
          noteKey(frame, JSON.parse(text.slice(at, end + 1)), found);
        at = end;
        break;
      }
    }
  }
  return [...found];
}

function noteKey(frame: Frame, key: string, found: Set<string>): void {
  if (frame.keys?.has(key)) found.add(frame.path === '' ? key : `${frame.path}.${key}`);
  frame.keys?.add(key);
  frame.key = key;
}

function pathOf(frame: Frame | undefined): string {
  if (frame === undefined) return '';
  if (frame.keys === undefined) return `${frame.path}[${frame.index}]`;
  return frame.path === '' ? (frame.key ?? '') : `${frame.path}.${frame.key}`;
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (text[at] !== '"' && at < text.length) at += text[at] === '\\' ? 2 : 1;
  return at;
}
