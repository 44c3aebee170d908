/** Values of fewer bytes are not looked for: they would be found in texts that have nothing to do with them. */
export const shortestSecret = 8;
/** Lines of a value (a key in PEM) that are looked for alone, too, because logs show lines. */
const shortestLine = 16;

/**
 * The texts in which a secret value may show: as it is, escaped for JSON, encoded for URLs and forms, in base64 and
 * base64url at each of the three places where it may begin inside something larger. None for a value that is too short.
 */
export function formsOf(secret: string): string[] {
  const long = (text: string) => Buffer.byteLength(text) >= shortestSecret;
  const lines = secret.split(/\r?\n/).map((line) => line.trim());
  const plain = [
    secret,
    secret.trim(),
    ...(lines.length > 1
      ? lines.filter((line) => line.length >= shortestLine && !line.startsWith('--'))
      : []),
  ].filter(long);
  return [
    ...new Set(plain.flatMap((text) => [text, ...jsonForms(text), ...urlForms(text), ...base64Forms(text)])),
  ].filter(long);
}

function jsonForms(text: string): string[] {
  const escaped = JSON.stringify(text).slice(1, -1);
  const ascii = escaped.replace(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return [escaped, ascii, escaped.replaceAll('/', '\\/')];
}

function urlForms(text: string): string[] {
  const encoded = encodeURIComponent(text.toWellFormed());
  const strict = encoded.replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16)}`);
  const forms = [encoded, strict, strict.replaceAll('%20', '+')];
  const cased = (change: (code: string) => string) =>
    forms.map((form) => form.replace(/%[0-9a-f]{2}/gi, change));
  return [...cased((code) => code.toUpperCase()), ...cased((code) => code.toLowerCase())];
}

/** Only the characters that the value alone decides: what stands before and after it changes the others. */
function base64Forms(text: string): string[] {
  const bytes = Buffer.from(text);
  return [0, 1, 2].flatMap((before) => {
    const coded = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    const first = before === 0 ? 0 : before + 1;
    const own = coded.slice(first, Math.floor(((before + bytes.length) * 8) / 6));
    return [own, own.replaceAll('+', '-').replaceAll('/', '_')];
  });
}
