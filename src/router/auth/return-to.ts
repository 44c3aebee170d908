const longest = 2_048;

/** Shows who one is, and logs out. */
export const accountPath = '/auth/account';

/** Where to go after the login: a path of ours and nothing else; "/" for whatever could lead elsewhere. */
export function safeReturnTo(asked: string | null | undefined): string {
  if (asked === null || asked === undefined || asked.length > longest) return '/';
  // Browsers take "\" for "/", leave out tabs and line ends, and read "//host" as another host.
  if (!/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(asked)) return '/';
  const base = 'http://own.invalid';
  if (!URL.canParse(asked, base)) return '/';
  const url = new URL(asked, base);
  if (url.origin !== base || url.pathname.startsWith('//') || isLoginPage(url.pathname)) return '/';
  return `${url.pathname}${url.search}${url.hash}`;
}

/**
 * After a login nobody wants to log in or out; the logins of agents at their own servers and one's account are
 * places to go on to.
 */
function isLoginPage(path: string): boolean {
  return path.startsWith('/auth/') && !path.startsWith('/auth/upstream/') && path !== accountPath;
}
