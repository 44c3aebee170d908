import type { Auth } from '#api/agent/auth.ts';
import type { ConfigMap, Secret } from '#api/meta.ts';
import { readPeople, usersDataKey, usersSecretType } from '#api/people.ts';
import { oncePerObject } from '#kit/memo.ts';
import { copiedKey, usersKey, usersSecretOf } from '#routing/access.ts';
import { isOwnSecret } from '../own-secret.ts';

/** Reads of the caches; every lookup is in the namespace of the object that refers. */
export interface AuthReferences {
  secret(namespace: string, name: string): Secret | undefined;
  configMap(namespace: string, name: string): ConfigMap | undefined;
}

/** One thing that an `auth` names: the key under which routers find it, and its value or why there is none. */
export interface Copied {
  readonly key: string;
  /** Where it was asked for, below `spec.auth`. */
  readonly field: string;
  readonly value?: string;
  /** A sentence that names field and remedy. */
  readonly problem?: string;
}

interface Owner {
  readonly auth: Auth;
  readonly namespace: string;
  readonly name: string;
}

/** Pure. What routers must have to let people in. */
export function copiedOf({ auth, namespace, name }: Owner, references: AuthReferences): Copied[] {
  if (auth.mode === 'pwd') return [users(usersSecretOf(auth, name), namespace, references)];
  if (auth.mode !== 'sso' || auth.sso === undefined) return [];
  const { clientSecretRef, ca } = auth.sso;
  return [
    ...(clientSecretRef ? [fromSecret('clientSecretRef', namespace, clientSecretRef, references)] : []),
    ...(ca?.secretKeyRef ? [fromSecret('ca.secretKeyRef', namespace, ca.secretKeyRef, references)] : []),
    ...(ca?.configMapKeyRef ? [fromMap(namespace, ca.configMapKeyRef, references)] : []),
  ];
}

/** Why nobody can log in, as sentences that name field and remedy. */
export function authProblemOf(owner: Owner, references: AuthReferences): string | undefined {
  const problems = copiedOf(owner, references).flatMap(({ problem }) =>
    problem === undefined ? [] : [problem],
  );
  return problems.length === 0 ? undefined : problems.join(' ');
}

/** Names of the Secrets that it reads. */
export function secretsOf({ auth, name }: Omit<Owner, 'namespace'>): string[] {
  if (auth.mode === 'pwd') return [usersSecretOf(auth, name)];
  if (auth.mode !== 'sso') return [];
  const names = [auth.sso?.clientSecretRef?.name, auth.sso?.ca?.secretKeyRef?.name];
  return names.filter((secret) => secret !== undefined);
}

function users(secretName: string, namespace: string, references: AuthReferences): Copied {
  const key = usersKey(`${namespace}/${secretName}`);
  const field = 'usersSecretRef';
  const secret = references.secret(namespace, secretName);
  const say = (problem: string, remedy: string): Copied => ({
    ...{ key, field },
    problem: `spec.auth.usersSecretRef: Secret "${secretName}" ${problem}; nobody can log in. ${remedy}`,
  });
  const make = `Add a user: \`ploinky user add NAME --secret ${secretName} -n ${namespace}\`.`;
  if (secret === undefined) return say('does not exist', make);
  if (secret.type !== usersSecretType)
    return say(`is not of type ${usersSecretType}`, 'Name another Secret, or delete this one and add users.');
  const { text, problem } = peopleIn(secret);
  return problem === undefined
    ? { key, field, value: text }
    : say(`${problem}`, 'Mend its key "users", or delete it and add users.');
}

const peopleIn = oncePerObject((secret: Secret): { text: string; problem?: string } => {
  const text = decode(secret.data?.[usersDataKey]) ?? '';
  const read = readPeople(text);
  return 'problem' in read ? { text, problem: read.problem } : { text };
});

interface KeyRef {
  readonly name: string;
  readonly key: string;
}

function fromSecret(at: string, namespace: string, ref: KeyRef, references: AuthReferences): Copied {
  const secret = references.secret(namespace, ref.name);
  const key = copiedKey('secret', namespace, ref);
  // The router would send it to the provider, which is whoever the author names.
  if (isOwnSecret(ref.name, secret)) {
    const field = `sso.${at}`;
    const problem = `spec.auth.${field}: Secret "${ref.name}" is Ploinky's own; nobody can log in. Name another.`;
    return { key, field, problem };
  }
  return found({ at, kind: 'Secret', ref, key }, decode(secret?.data?.[ref.key]));
}

function fromMap(namespace: string, ref: KeyRef, references: AuthReferences): Copied {
  const value = references.configMap(namespace, ref.name)?.data?.[ref.key];
  return found(
    { at: 'ca.configMapKeyRef', kind: 'ConfigMap', ref, key: copiedKey('config', namespace, ref) },
    value,
  );
}

function found(
  { at, kind, ref, key }: { at: string; kind: string; ref: KeyRef; key: string },
  value: string | undefined,
): Copied {
  const field = `sso.${at}`;
  if (value !== undefined) return { key, field, value };
  const problem = `spec.auth.${field}: ${kind} "${ref.name}" does not exist or has no key "${ref.key}"; nobody can log in. Create it.`;
  return { key, field, problem };
}

function decode(data: string | undefined): string | undefined {
  return data === undefined ? undefined : Buffer.from(data, 'base64').toString('utf8');
}
