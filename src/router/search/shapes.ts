/**
 * What a query names by its shape alone, as words for the kind of thing it is: people say "open notes.md" and
 * never "file". The order matters: what one shape took is not looked at again.
 */
export function shapeWords(text: string): string[] {
  let rest = text;
  const words: string[] = [];
  for (const [shape, meaning] of shapes) {
    const without = rest.replace(shape, ' ');
    if (without !== rest) words.push(...meaning);
    rest = without;
  }
  return words;
}

const shapes: readonly (readonly [RegExp, readonly string[]])[] = [
  [/[\w.+-]+@[\w-]+\.[\w.-]+/g, ['email']],
  [/\bhttps?:\/\/\S+/g, ['url']],
  [/\b(?:[a-z0-9-]+\.)+(?:com|org|net|io|dev|eu|edu|gov)\b(?:\/\S*)?/gi, ['domain', 'url']],
  [/\b[\w-]+\.[a-z][a-z0-9]{0,4}\b|(?<!\S)\.[a-z]{2,4}\b/gi, ['file']],
  [/(?<!\S)#[a-z][\w-]*/gi, ['channel']],
  [/\b[A-Z]{2,10}-\d+\b/g, ['issue']],
];
