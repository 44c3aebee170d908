import type { InvocationClaims } from '#wire/claims.ts';

/** Who nobody knows. */
export const nobody = '';

/**
 * Who calls, as the router knows them: a person of another realm is another person. Realms of identity providers begin with
 * the issuer, whose person it is, however that person shows it: by a session in a browser or by a token of an MCP client.
 */
export function userOf({ claims }: { readonly claims: InvocationClaims | undefined }): string {
  const { usr } = claims ?? {};
  if (usr === null || usr === undefined || usr.id === '') return nobody;
  const [issuer = ''] = (usr.realm ?? '').split(' ');
  return JSON.stringify([issuer, usr.id]);
}
