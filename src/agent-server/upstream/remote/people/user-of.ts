import type { InvocationClaims } from '#wire/claims.ts';

/** Who nobody knows. */
export const nobody = '';

/** Who calls, as the router knows them: a person of another realm is another person. */
export function userOf({ claims }: { readonly claims: InvocationClaims | undefined }): string {
  const { usr } = claims ?? {};
  if (usr === null || usr === undefined || usr.id === '') return nobody;
  return JSON.stringify([usr.realm ?? '', usr.id]);
}
