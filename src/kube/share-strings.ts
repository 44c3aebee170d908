/** Shorter ones are shared by JSON.parse already; longer ones are seldom equal. */
const shortest = 11;
const longest = 200;

/**
 * Makes equal strings one: what a parser made of thousands of objects has the same kinds, images, reasons and times
 * in all of them, each a string of its own. Returns a function that changes plain JSON in place and returns it.
 * Remembers at most `entries` strings, the recent ones.
 */
export function createStringSharer(entries = 4_096): <V>(value: V) => V {
  const known = new Map<string, string>();

  function share(text: string): string {
    if (text.length < shortest || text.length > longest) return text;
    const first = known.get(text);
    if (first !== undefined) return first;
    if (known.size >= entries) known.clear();
    known.set(text, text);
    return text;
  }

  function visit(value: unknown): void {
    if (Array.isArray(value)) visitMembers(value as unknown as Record<string, unknown>, value.keys());
    else if (typeof value === 'object' && value !== null) {
      visitMembers(value as Record<string, unknown>, Object.keys(value));
    }
  }

  function visitMembers(holder: Record<string | number, unknown>, keys: Iterable<string | number>): void {
    for (const key of keys) {
      const member = holder[key];
      // Whether they are one cannot be asked: strings are compared by what they say.
      if (typeof member === 'string') holder[key] = share(member);
      else visit(member);
    }
  }

  return (value) => {
    visit(value);
    return value;
  };
}
