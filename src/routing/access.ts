import type { Auth } from '#api/agent/auth.ts';
import { digestOf, sha256Hex } from '#kit/digest.ts';

export type Issuer = NonNullable<Auth['issuers']>[number];
export type AllowRule = NonNullable<Auth['allow']>[number];
type Sso = NonNullable<Auth['sso']>;

/** What a router must know to log people in at a provider; secrets are named by the keys of Secret `ploinky-auth`. */
export interface SsoAccess extends Pick<Sso, 'issuer' | 'clientId' | 'scopes' | 'rolesClaim' | 'roles'> {
  readonly clientSecretKey?: string;
  readonly caKey?: string;
}

/** Who may come in, of one surface or of one agent. Absent where anybody may. */
export interface Access {
  readonly mode: Auth['mode'];
  /**
   * Who knows the people: `<namespace>/<Secret>` of mode pwd, issuer and client id of mode sso, `guest`, or empty. What
   * has the same realm shares its sessions.
   */
  readonly realm: string;
  readonly issuers: readonly Issuer[];
  /** Absent: who may come in may call everything. */
  readonly allow: readonly AllowRule[] | undefined;
  readonly sso?: SsoAccess;
}

/** Pure. `name` is the Agent's or Route's. Undefined: everybody may do everything. */
export function accessOf(auth: Auth, namespace: string, name: string): Access | undefined {
  const { mode, issuers = [], allow, sso } = auth;
  if (mode === 'none' && issuers.length === 0 && allow === undefined) return undefined;
  const base = { mode, issuers, allow };
  if (mode === 'pwd') return { ...base, realm: `${namespace}/${usersSecretOf(auth, name)}` };
  if (mode === 'guest') return { ...base, realm: 'guest' };
  if (mode !== 'sso' || sso === undefined) return { ...base, realm: '' };
  return { ...base, realm: ssoRealm(sso, namespace), sso: ssoAccess(sso, namespace) };
}

/** A session carries its roles: who maps claims to other roles, or trusts other certificates, shares no session. */
function ssoRealm({ issuer, clientId, rolesClaim, roles, ca }: Sso, namespace: string): string {
  const mapping = { rolesClaim, roles, ca: ca && { ...ca, namespace } };
  const isPlain = rolesClaim === undefined && roles === undefined && ca === undefined;
  // An id may have spaces: it must not read as another's id and mapping.
  const realm = `${issuer} ${encodeURIComponent(clientId.toWellFormed())}`;
  return isPlain ? realm : `${realm} ${digestOf(mapping, 32)}`;
}

/**
 * Who knows the people that an issuer's tokens are about. They carry the roles that an Access maps their claims to, which
 * are none to an Access with another mapping. No realm of mode sso is the same.
 */
export function bearerRealm(issuer: string, { sso }: Pick<Access, 'sso'>): string {
  if (sso?.issuer !== issuer) return issuer;
  const { rolesClaim, roles } = sso;
  return `${issuer} =${digestOf({ rolesClaim, roles }, 32)}`;
}

/** The issuer of a realm that `bearerRealm` made; undefined for every other. */
export function issuerOfBearer(realm: string): string | undefined {
  const [issuer, mapping] = realm.split(' ');
  return mapping === undefined || mapping.startsWith('=') ? issuer : undefined;
}

/** Name of the Secret with the users of an Agent's or Route's mode pwd. */
export function usersSecretOf({ usersSecretRef }: Auth, name: string): string {
  return usersSecretRef?.name ?? `${name}-users`;
}

function ssoAccess(sso: Sso, namespace: string): SsoAccess {
  const { issuer, clientId, scopes, rolesClaim, roles, clientSecretRef, ca } = sso;
  return {
    ...{ issuer, clientId, scopes, rolesClaim, roles },
    ...(clientSecretRef && { clientSecretKey: copiedKey('secret', namespace, clientSecretRef) }),
    ...(ca?.secretKeyRef && { caKey: copiedKey('secret', namespace, ca.secretKeyRef) }),
    ...(ca?.configMapKeyRef && { caKey: copiedKey('config', namespace, ca.configMapKeyRef) }),
  };
}

/** The Secret of the home namespace into which the controller copies what routers must know of people. */
export const authSecretName = 'ploinky-auth';
/** The ConfigMap of the home namespace with the sessions that ended before their time. */
export const logoutsName = 'ploinky-logouts';

/** Key in Secret `ploinky-auth` of the users of a realm. */
export function usersKey(realm: string): string {
  return `users.${sha256Hex(realm).slice(0, 32)}`;
}

/** Key in Secret `ploinky-auth` of one value that an `auth` names. */
export function copiedKey(
  kind: 'secret' | 'config',
  namespace: string,
  reference: { readonly name: string; readonly key: string },
): string {
  return `${kind}.${sha256Hex(`${namespace}/${reference.name}/${reference.key}`).slice(0, 32)}`;
}
