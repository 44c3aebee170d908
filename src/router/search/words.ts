/**
 * The words of a text, normalised alike for tools and for what is asked: compatibility forms and diacritics
 * folded (NFKD), camelCase, snake_case and digits taken apart, lower case, without the commonest English
 * function words, and each reduced to its stem. Words that only a person's phrasing brings in ("please")
 * are left to their weight: a word that no tool has counts nothing.
 */
export function wordsOf(text: string): string[] {
  const plain = text
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(contractions, '');
  const words = plain.match(pieces) ?? [];
  return words
    .map((word) => word.toLowerCase())
    .filter((word) => !functionWords.has(word))
    .map(stem);
}

/** What an apostrophe cuts off: "Tom's", "I'm", "we'll". */
const contractions = /(?:n['’]t|['’](?:s|m|d|re|ve|ll))(?!\p{L})/giu;

/** Capitals with their plural s ("URLs"), a capitalised or small word, any other letters, digits. */
const pieces = /\p{Lu}{2,}s?(?!\p{Ll})|\p{Lu}?\p{Ll}+|\p{L}+|\p{N}+/gu;

const functionWords: ReadonlySet<string> = new Set(
  (
    'a an and any are as at be been but by can could did do does for from had has have he her his how i if in ' +
    'into is it its just many me much my no not of on or our please s she should so some than that the their them then ' +
    'there these they this those to us was we were what when where which who whom why will with would you your'
  ).split(' '),
);

/** No English word is longer; what is, costs no more than its length. */
const longestStemmed = 40;

/**
 * A light stem, made of endings alone: plurals, -ing, -ed and a final e. It only has to be the same for the
 * forms of one word; what it looks like does not matter.
 */
export function stem(word: string): string {
  if (word.length < 4 || word.length > longestStemmed || !/^[a-z]+$/.test(word)) return word;
  return withoutFinalE(withoutTense(withoutPlural(word)));
}

function withoutPlural(word: string): string {
  if (word.endsWith('ies') && word.length > 4) return `${word.slice(0, -3)}y`;
  if (/(?:ss|sh|ch|x|z)es$/.test(word)) return word.slice(0, -2);
  return /[^sui]s$/.test(word) ? word.slice(0, -1) : word;
}

function withoutTense(word: string): string {
  if (word.endsWith('ied') && word.length > 4) return `${word.slice(0, -3)}y`;
  const [, root] = /^(.*[aeiouy].*)(?:ing|ed)$/.exec(word) ?? [];
  if (root === undefined || root.length < 3) return word;
  return /([bdfgmnprt])\1$/.test(root) ? root.slice(0, -1) : root;
}

function withoutFinalE(word: string): string {
  return word.length > 3 && word.endsWith('e') ? word.slice(0, -1) : word;
}
