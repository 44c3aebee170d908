import type { Person } from '#api/people.ts';
import { oncePerObject } from '#kit/memo.ts';
import type { WireUser } from '#wire/claims.ts';

/** What agents are told of a person; the same object for the same one. */
export const userOf = oncePerObject(
  ({ id, username, email, roles }: Person): WireUser => ({ sub: id, id, username, email, roles }),
);
