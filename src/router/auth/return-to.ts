const longest = 2_048;

/** Where to go after the login: a path of ours and nothing else; "/" for whatever could lead elsewhere. */
export function safeReturnTo(asked: string | null | undefined): string {
  if (asked === null || asked === undefined || asked.length > longest) return '/';
  // Browsers take "\" for "/", leave out tabs and line ends, and read "//host" as another host.
  if (!/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(asked)) return '/';
  const base = 'http://own.invalid';
  if (!URL.canParse(asked, base)) return '/';
  const url = new URL(asked, base);
  if (url.origin !== base || url.pathname.startsWith('//') || url.pathname.startsWith('/auth/')) return '/';
  return `${url.pathname}${url.search}${url.hash}`;
}
