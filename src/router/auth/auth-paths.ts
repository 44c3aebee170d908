/** What is below `/auth` on every host; no agent's files are there. */
export const authPaths: ReadonlySet<string> = new Set([
  '/auth/login',
  '/auth/logout',
  '/auth/logged-out',
  '/auth/callback',
  '/auth/token',
  '/auth/account',
]);
