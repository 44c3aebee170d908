/** A parser of what strangers send, and what must hold of it whatever they send. */
export interface FuzzTarget {
  readonly name: string;
  /** Inputs to begin with, each of a kind of its own. */
  readonly seeds: readonly (string | Buffer)[];
  /** Pieces that mean something to the parser. */
  readonly words: readonly string[];
  /** Throws when something does not hold. What the parser refuses as it should is no failure. */
  readonly run: (input: Buffer) => void;
}

/** Runs a parser; returns nothing for what it refuses with an error of these codes or classes. */
export function unless<T>(isRefusal: (error: unknown) => boolean, parse: () => T): T | undefined {
  try {
    return parse();
  } catch (error) {
    if (isRefusal(error)) return undefined;
    throw error;
  }
}
