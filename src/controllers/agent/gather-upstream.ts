import type { Agent } from '#api/agent.ts';
import type { UpstreamSecrets } from '#api/agent-server-config.ts';
import { followRef, type NamedReference, type Ref, type References } from './gather.ts';

const field = 'spec.mcp.upstream';

/** Secrets and ConfigMaps that a remote upstream needs. None of them is part of the spec hash: new values are handed on. */
export function upstreamReferences({ spec }: Pick<Agent, 'spec'>): NamedReference[] {
  const { headersFrom = [], oauth, ca } = spec.mcp?.upstream ?? {};
  const { clientSecretRef, privateKeyRef } = oauth ?? {};
  return [
    ...headersFrom
      .filter(isReference)
      .map((header) => ({ field: `${field}.headersFrom (${header.name})`, ...header })),
    ...(clientSecretRef === undefined
      ? []
      : [{ field: `${field}.oauth.clientSecretRef`, secretKeyRef: clientSecretRef }]),
    ...(privateKeyRef === undefined
      ? []
      : [{ field: `${field}.oauth.privateKeyRef`, secretKeyRef: privateKeyRef }]),
    ...(ca === undefined ? [] : [{ field: `${field}.ca`, ...ca }]),
    ...storeReferences(spec),
  ];
}

const storeField = 'spec.storage.blobs.s3.credentialsSecretRef';
const accessKeyIdKey = 'accessKeyId';
const secretAccessKeyKey = 'secretAccessKey';
const sessionTokenKey = 'sessionToken';
const authoritiesKey = 'ca.crt';

function storeReferences({ storage }: Agent['spec']): NamedReference[] {
  const name = storage.blobs?.s3?.credentialsSecretRef.name;
  if (name === undefined) return [];
  const optional = [sessionTokenKey, authoritiesKey].map((key) => ({ name, key, optional: true }));
  const needed = [accessKeyIdKey, secretAccessKeyKey].map((key) => ({ name, key }));
  return [...needed, ...optional].map((secretKeyRef) => ({ field: storeField, secretKeyRef }));
}

function isReference({ secretKeyRef, configMapKeyRef }: Ref): boolean {
  return secretKeyRef !== undefined || configMapKeyRef !== undefined;
}

export interface GatheredUpstream {
  readonly values: UpstreamSecrets | undefined;
  /** References that lead nowhere, as sentences. */
  readonly missing: readonly string[];
}

/** Follows the references of a remote upstream. Values stay in memory. */
export function gatherUpstream(agent: Agent, references: References): GatheredUpstream {
  const upstream = agent.spec.mcp?.upstream;
  const store = agent.spec.storage.blobs?.s3;
  if (upstream?.url === undefined && store === undefined) return { values: undefined, missing: [] };
  const missing = upstreamReferences(agent).flatMap(({ field: at, ...ref }) => {
    const { value, optional, problem } = followRef(agent, ref, references);
    return value !== undefined || optional ? [] : [`${at}: ${problem}.`];
  });
  const read = (ref: Ref | undefined) =>
    ref === undefined ? undefined : followRef(agent, ref, references).value;
  const headers = (upstream?.headersFrom ?? []).flatMap((header) => {
    const value = isReference(header) ? read(header) : header.value;
    return value === undefined ? [] : [[header.name, withoutLineEnd(value)] as const];
  });
  const secretHeaders = (upstream?.headersFrom ?? []).flatMap(({ name, secretKeyRef }) =>
    secretKeyRef === undefined ? [] : [name],
  );
  const clientSecret = read(refTo(upstream?.oauth?.clientSecretRef));
  const privateKey = read(refTo(upstream?.oauth?.privateKeyRef));
  const ca = read(upstream?.ca);
  const values = {
    headers: Object.fromEntries(headers),
    ...(secretHeaders.length > 0 && { secretHeaders }),
    ...(clientSecret !== undefined && { clientSecret: withoutLineEnd(clientSecret) }),
    ...(privateKey !== undefined && { privateKey }),
    ...(ca !== undefined && { ca }),
    ...gatherStore(store?.credentialsSecretRef.name, read),
  };
  return { values, missing };
}

/** What the store of blobs is asked with; nothing while a part of it is missing. */
function gatherStore(
  name: string | undefined,
  read: (ref: Ref) => string | undefined,
): Pick<UpstreamSecrets, 'blobs'> {
  if (name === undefined) return {};
  const value = (key: string) => {
    const found = read({ secretKeyRef: { name, key } });
    return found === undefined ? undefined : withoutLineEnd(found);
  };
  const accessKeyId = value(accessKeyIdKey);
  const secretAccessKey = value(secretAccessKeyKey);
  if (accessKeyId === undefined || secretAccessKey === undefined) return {};
  const sessionToken = value(sessionTokenKey);
  const ca = value(authoritiesKey);
  const more = { ...(sessionToken !== undefined && { sessionToken }), ...(ca !== undefined && { ca }) };
  return { blobs: { accessKeyId, secretAccessKey, ...more } };
}

function refTo(secretKeyRef: Ref['secretKeyRef']): Ref | undefined {
  return secretKeyRef === undefined ? undefined : { secretKeyRef };
}

/** Values that were made with an editor or `echo` end with a line. */
function withoutLineEnd(value: string): string {
  return value.replace(/\r?\n$/, '');
}
