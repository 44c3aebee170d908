import { setFlagsFromString } from 'node:v8';

export interface PatternCheck {
  readonly matches: (text: string) => boolean;
  /** Longest text, in UTF-16 units, whose check is bounded; a longer one must be refused. */
  readonly maxLength: number;
}

const longAsYouLike = Number.MAX_SAFE_INTEGER;
/** For patterns that only the backtracking engine can run and that look harmless: cubic time at worst. */
const shortText = 256;

/**
 * A regular expression that cannot be made to run for long, or undefined when the pattern might.
 * Patterns that V8's linear engine can execute run there when the text is long, and fall back to it after 50,000
 * backtracks. Others (look-around,
 * back references, \p, \b, large counts) are accepted without nested repetition, for short texts only.
 */
export function compilePattern(source: string): PatternCheck | undefined {
  enableLinearEngine();
  const expression = compile(source, '') ?? compile(source, 'u');
  if (expression === undefined) return undefined;
  const linear = expression.flags === '' && !needsUnicode(source) ? compile(source, 'l') : undefined;
  if (linear !== undefined) {
    // The other engine is faster, and falls back on its own; but not from loops that are merely quadratic.
    const matches = (text: string) => (text.length > shortText ? linear : expression).test(text);
    return { matches, maxLength: longAsYouLike };
  }
  if (!isHarmless(source)) return undefined;
  const unicode = needsUnicode(source) ? (compile(source, 'u') ?? expression) : expression;
  return { matches: (text) => unicode.test(text), maxLength: shortText };
}

let enabled = false;

/** V8 reads these flags whenever it compiles an expression, so that setting them late is early enough. */
function enableLinearEngine(): void {
  if (enabled) return;
  enabled = true;
  setFlagsFromString('--enable-experimental-regexp-engine');
  setFlagsFromString('--enable-experimental-regexp-engine-on-excessive-backtracks');
  setFlagsFromString('--regexp-backtracks-before-fallback=50000');
}

function compile(source: string, flags: string): RegExp | undefined {
  try {
    return new RegExp(source, flags);
  } catch {
    return undefined;
  }
}

function needsUnicode(source: string): boolean {
  return /\\[pPu]\{|[^\0-\uffff]|[\ud800-\udfff]/.test(source);
}

/** At most two unbounded repetitions, none inside a repeated group, no large counts, no back references. */
function isHarmless(source: string): boolean {
  const plain = source.replace(/\\(?![1-9k])./g, 'x').replace(/\[(?:[^\]\\]|\\.)*\]/g, 'x');
  if (/\\[1-9k]/.test(plain)) return false;
  const counts = [...plain.matchAll(/\{(\d+)(?:,(\d*))?\}/g)];
  if (counts.some(([, low, high]) => Number(low) > 64 || Number(high ?? 0) > 256)) return false;
  const unbounded = plain.match(/[*+]|\{\d+,\}/g) ?? [];
  return unbounded.length <= 2 && !hasRepeatedGroupWithChoice(plain);
}

/** `(…)*`, `(…)+` or `(…){n` where the group holds a repetition or an alternative. */
function hasRepeatedGroupWithChoice(plain: string): boolean {
  const open: number[] = [];
  for (let index = 0; index < plain.length; index++) {
    if (plain[index] === '(') open.push(index);
    if (plain[index] !== ')') continue;
    const inside = plain.slice((open.pop() ?? 0) + 1, index);
    if (/^[*+{]/.test(plain.slice(index + 1)) && /[*+{|?]/.test(inside.replace(/\(\?[:=!<]/g, '(')))
      return true;
  }
  return false;
}
