import { group } from '#api/group.ts';
import type { CheckResult, Cluster } from '../../context.ts';
import { type AccessReview, accessReviewResource } from '../objects.ts';
import { defaultHomeNamespace } from '../product.ts';
import { ok, warn } from './result.ts';

/** What a verb of the command line asks the API for. */
export interface Right {
  readonly verb: string;
  readonly resource: string;
  readonly group: string;
  readonly subresource?: string;
  /** In the installation's namespace instead of the one that is meant. */
  readonly home?: true;
  /** The commands that need it. */
  readonly for: string;
}

export const rights: readonly Right[] = [
  ...['get', 'list', 'watch'].map((verb) => own(verb, 'agents', 'get, status')),
  ...['create', 'patch'].map((verb) => own(verb, 'agents', 'apply, restart')),
  own('delete', 'agents', 'delete'),
  { ...own('patch', 'agents', 'scale'), subresource: 'scale' },
  ...['get', 'list', 'create', 'patch', 'delete'].map((verb) => own(verb, 'routes', 'apply, get, delete')),
  ...['get', 'list', 'create', 'patch', 'delete'].map((verb) => own(verb, 'tasks', 'apply, get, delete')),
  core('list', 'events', 'describe, events'),
  core('list', 'pods', 'logs'),
  { ...core('get', 'pods', 'logs'), subresource: 'log' },
  { ...core('list', 'pods', 'tools, call'), home: true },
  // A websocket asks with a GET; since 1.35 the API wants the right to create for it, too.
  { ...core('get', 'pods', 'tools, call'), subresource: 'portforward', home: true },
  { ...core('create', 'pods', 'tools, call'), subresource: 'portforward', home: true },
];

function own(verb: string, resource: string, verbs: string): Right {
  return { verb, resource, group, for: verbs };
}

function core(verb: string, resource: string, verbs: string): Right {
  return { verb, resource, group: '', for: verbs };
}

/** Asks the API for each right that the command line uses. */
export async function checkRights(
  cluster: Cluster,
  where: Promise<string | undefined>,
): Promise<CheckResult> {
  const home = (await where) ?? defaultHomeNamespace;
  const answers = await Promise.all(rights.map((right) => isAllowed(cluster, right, home)));
  const missing = rights.filter((_, index) => !answers[index]);
  const place = `in ${[...new Set([cluster.namespace, home])].join(' and ')}`;
  if (missing.length === 0) return ok(`all ${rights.length} that the command line uses, ${place}`);
  const named = missing.map((right) => describe(right)).join('; ');
  return warn(
    `missing ${place}: ${named}`,
    `Ask an administrator for the role edit in ${cluster.namespace}; with --router URL, \`tools\` and \`call\` need no right in ${home}.`,
  );
}

function describe({ verb, resource, subresource, for: verbs }: Right): string {
  return `${verb} ${resource}${subresource === undefined ? '' : `/${subresource}`} (${verbs})`;
}

async function isAllowed({ client, namespace }: Cluster, right: Right, home: string): Promise<boolean> {
  const { verb, resource, group, subresource } = right;
  const review = await client.create<AccessReview>(accessReviewResource, {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    metadata: { name: '' },
    spec: {
      resourceAttributes: {
        ...{ verb, resource, group },
        ...(subresource !== undefined && { subresource }),
        namespace: right.home ? home : namespace,
      },
    },
  });
  return review.status?.allowed === true;
}
