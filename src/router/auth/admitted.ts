import type { Access } from '#routing/access.ts';
import type { Caller } from '../caller.ts';

/**
 * Whether a caller who was identified may come in. What they may call there is another question (`access.allow`). True
 * without an Access.
 */
export function isAdmitted(caller: Caller, access: Access | undefined): boolean {
  if (access === undefined || !asksWho(access)) return true;
  if (caller.user === null) return false;
  if (access.mode === 'guest') return true;
  const realm = caller.realm ?? caller.user.realm;
  if (access.mode !== 'none' && realm === access.realm) return true;
  return access.issuers.some((issuer) => {
    if (realm !== issuer.url || caller.proof === 'sso') return false;
    return (issuer.scopes ?? []).every((scope) => caller.scopes?.includes(scope));
  });
}

/** False where an Access says only what may be called. */
export function asksWho({ mode, issuers }: Access): boolean {
  return mode !== 'none' || issuers.length > 0;
}
