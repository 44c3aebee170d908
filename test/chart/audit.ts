import type { KubeObject } from '#api/meta.ts';
import { type Grant, grantsOf } from './grants.ts';

export interface AuditComparison {
  /** `USER VERB RESOURCE in NAMESPACE (HTTP CODE), N times`: asked for by a service account, and no role says so. */
  readonly usedNotGranted: string[];
  /** `USER VERB RESOURCE by ROLE`: not asked for anywhere. */
  readonly grantedNotUsed: string[];
  /** The same, of what only a fault or a race needs. */
  readonly rarelyUsed: string[];
  /** How many requests of service accounts that the roles speak of were looked at. Zero: the log is another's. */
  readonly requests: number;
}

/** The part of an audit.k8s.io/v1 Event (level Metadata or more) that is compared. */
interface AuditEvent {
  readonly stage?: string;
  readonly verb?: string;
  readonly requestURI?: string;
  readonly user?: { readonly username?: string };
  readonly impersonatedUser?: object;
  readonly objectRef?: {
    readonly apiGroup?: string;
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code?: number };
}

interface Use {
  readonly user: string;
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly code: number;
}

/**
 * Compares what the programs asked an API server with what the chart's roles let them. `auditLines` are lines of its
 * audit log; `roles` the rendered objects of the chart (others than RBAC's are passed over). Only service accounts
 * that the roles speak of count. `rarely` names what a run may do without: see `rarePermissions`. Requests for no resource (`/healthz`, discovery) and reviews of one's own rights
 * are everybody's and need no role.
 */
export function compareAudit(
  auditLines: Iterable<string>,
  roles: readonly KubeObject[],
  rarely: readonly Pick<Grant, 'group' | 'resource' | 'verb'>[] = [],
): AuditComparison {
  const grants = grantsOf(roles);
  const users = new Set(grants.map(({ user }) => user));
  // A role that several namespaces bind is used when it is used in one of them.
  const unused = new Map(grants.map((grant) => [describeGrant(grant), grant]));
  const ungranted = new Map<string, number>();
  let requests = 0;
  for (const use of usesIn(auditLines, users)) {
    requests += 1;
    const granting = grants.filter((grant) => covers(grant, use));
    for (const grant of granting) unused.delete(describeGrant(grant));
    if (granting.length > 0) continue;
    const text = describeUse(use);
    ungranted.set(text, (ungranted.get(text) ?? 0) + 1);
  }
  const isRare = (grant: Grant) =>
    rarely.some(
      ({ group, resource, verb }) =>
        group === grant.group && resource === grant.resource && verb === grant.verb,
    );
  const left = [...unused.values()];
  return {
    usedNotGranted: [...ungranted].map(([text, count]) => `${text}, ${count} times`).sort(),
    grantedNotUsed: left
      .filter((grant) => !isRare(grant))
      .map(describeGrant)
      .sort(),
    rarelyUsed: left.filter(isRare).map(describeGrant).sort(),
    requests,
  };
}

function* usesIn(lines: Iterable<string>, users: ReadonlySet<string>): Generator<Use> {
  for (const line of lines) {
    if (line.trim() === '') continue;
    const event = JSON.parse(line) as AuditEvent;
    // Each request goes through several stages; a watch that is still open has only begun.
    const isLast = event.stage === 'ResponseComplete' || event.stage === 'Panic';
    if (!isLast && !(event.stage === 'ResponseStarted' && event.verb === 'watch')) continue;
    const { user, verb, objectRef: object, responseStatus } = event;
    if (object?.resource === undefined || verb === undefined || event.impersonatedUser !== undefined)
      continue;
    if (user?.username === undefined || !users.has(user.username)) continue;
    if (object.apiGroup === 'authorization.k8s.io' || object.apiGroup === 'authentication.k8s.io') continue;
    const use: Use = {
      user: user.username,
      verb,
      group: object.apiGroup ?? '',
      resource: [object.resource, object.subresource].filter((part) => part !== undefined).join('/'),
      namespace: object.namespace,
      // A list or watch of one object by field selector is authorized by that object's name.
      name: object.name ?? selectedName(event.requestURI),
      code: responseStatus?.code ?? 0,
    };
    yield use;
    // Server-side apply of what is not there yet must be allowed to create it, too.
    if (verb === 'patch' && use.code === 201) yield { ...use, verb: 'create', name: undefined };
  }
}

function selectedName(uri = ''): string | undefined {
  const selector = new URL(uri, 'http://api').searchParams.get('fieldSelector') ?? '';
  return /(?:^|,)metadata\.name=([^,]+)/.exec(selector)?.[1];
}

function covers(grant: Grant, use: Use): boolean {
  return (
    grant.user === use.user &&
    grant.verb === use.verb &&
    grant.group === use.group &&
    grant.resource === use.resource &&
    (grant.namespace === undefined || grant.namespace === use.namespace) &&
    (grant.name === undefined || grant.name === use.name)
  );
}

function describeUse({ user, verb, group, resource, namespace, code }: Use): string {
  return `${user} ${verb} ${fullResource(group, resource)} in ${namespace ?? 'all namespaces'} (HTTP ${code})`;
}

function describeGrant({ user, verb, group, resource, name, role }: Grant): string {
  const only = name === undefined ? '' : ` ${name}`;
  return `${user} ${verb} ${fullResource(group, resource)}${only} by ${role}`;
}

function fullResource(group: string, resource: string): string {
  return group === '' ? resource : `${resource}.${group}`;
}
