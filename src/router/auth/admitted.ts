import { type Access, type Issuer, issuerOfBearer } from '#routing/access.ts';
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
  const from = realm === undefined ? undefined : issuerOfBearer(realm);
  return access.issuers.some((issuer) => {
    if (from !== issuer.url || caller.proof === 'sso' || !isMeant(caller, issuer)) return false;
    return (issuer.scopes ?? []).every((scope) => caller.scopes?.includes(scope));
  });
}

/** Whether a token is for whom this Access wants it to be for: that it is for another one's address does not count. */
function isMeant({ proof, claims, ownAudience }: Caller, { audiences }: Issuer): boolean {
  // Agents act with tokens of the router's own; who gave the first one was checked when it was shown.
  if (proof !== 'bearer') return true;
  if (audiences === undefined) return ownAudience === true;
  return [claims?.['aud'] ?? []].flat().some((audience) => audiences.includes(String(audience)));
}

/** False where an Access says only what may be called. */
export function asksWho({ mode, issuers }: Access): boolean {
  return mode !== 'none' || issuers.length > 0;
}
