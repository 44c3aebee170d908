import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { KubeObject } from '#api/meta.ts';
import { compareAudit } from './audit.ts';

const user = 'system:serviceaccount:home:router';

const roles = [
  {
    kind: 'ClusterRole',
    metadata: { name: 'watch' },
    rules: [{ apiGroups: ['ploinky.dev'], resources: ['agents'], verbs: ['list', 'watch'] }],
  },
  {
    kind: 'Role',
    metadata: { name: 'own', namespace: 'home' },
    rules: [
      { apiGroups: [''], resources: ['secrets'], resourceNames: ['ploinky-master'], verbs: ['list'] },
      { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create', 'patch'] },
    ],
  },
  binding('ClusterRoleBinding', 'ClusterRole', 'watch'),
  binding('RoleBinding', 'Role', 'own', 'home'),
] as unknown as KubeObject[];

function binding(kind: string, roleKind: string, name: string, namespace?: string) {
  const subjects = [{ kind: 'ServiceAccount', name: 'router', namespace: 'home' }];
  return { kind, metadata: { name, namespace }, roleRef: { kind: roleKind, name }, subjects };
}

interface Request {
  readonly verb: string;
  readonly resource: string;
  readonly group?: string;
  readonly namespace?: string;
  readonly uri?: string;
  readonly name?: string;
  readonly code?: number;
  readonly user?: string;
  readonly stage?: string;
}

function line({ verb, resource, group, namespace, name, ...rest }: Request): string {
  const [plural, subresource] = resource.split('/');
  return JSON.stringify({
    stage: rest.stage ?? 'ResponseComplete',
    verb,
    requestURI: rest.uri ?? '/',
    user: { username: rest.user ?? user },
    objectRef: { resource: plural, subresource, apiGroup: group, namespace, name },
    responseStatus: { code: rest.code ?? 200 },
  });
}

const everything = [
  line({ verb: 'list', resource: 'agents', group: 'ploinky.dev' }),
  line({ verb: 'watch', resource: 'agents', group: 'ploinky.dev' }),
  line({
    verb: 'list',
    resource: 'secrets',
    namespace: 'home',
    uri: '/api/v1/namespaces/home/secrets?fieldSelector=metadata.name%3Dploinky-master',
  }),
  line({
    verb: 'patch',
    resource: 'leases',
    group: 'coordination.k8s.io',
    namespace: 'home',
    name: 'ploinky-router-a',
    code: 201,
  }),
];

it('a log that uses what is granted, and all of it, has no differences; an apply that creates counts as both', () => {
  const nothing = { usedNotGranted: [], grantedNotUsed: [], rarelyUsed: [] };
  assert.deepEqual(compareAudit(everything, roles), { ...nothing, requests: 5 });
});

it('a grant that nothing used is named with its role', () => {
  const { grantedNotUsed } = compareAudit(everything.slice(1), roles);
  assert.deepEqual(grantedNotUsed, [`${user} list agents.ploinky.dev by ClusterRole watch`]);
});

it('a grant that is for faults and races is told apart', () => {
  const rarely = [{ group: 'ploinky.dev', resource: 'agents', verb: 'list' }];
  const { grantedNotUsed, rarelyUsed } = compareAudit(everything.slice(1), roles, rarely);
  assert.deepEqual([grantedNotUsed.length, rarelyUsed.length], [0, 1]);
});

it('a role that two namespaces bind is used when it is used in one', () => {
  const everywhere = [...roles, binding('RoleBinding', 'ClusterRole', 'watch', 'b')] as KubeObject[];
  assert.deepEqual(compareAudit(everything, everywhere).grantedNotUsed, []);
});

it('a Secret of another name, and a list without the field selector, are not granted', () => {
  const log = [
    line({ verb: 'list', resource: 'secrets', namespace: 'home', name: 'other', code: 403 }),
    line({ verb: 'list', resource: 'secrets', namespace: 'home', code: 403 }),
  ];
  const { usedNotGranted } = compareAudit(log, roles);
  assert.deepEqual(usedNotGranted, [`${user} list secrets in home (HTTP 403), 2 times`]);
});

it('a namespace’s grant does not reach into another', () => {
  const log = [line({ verb: 'patch', resource: 'leases', group: 'coordination.k8s.io', namespace: 'b' })];
  const { usedNotGranted } = compareAudit(log, roles);
  assert.deepEqual(usedNotGranted, [`${user} patch leases.coordination.k8s.io in b (HTTP 200), 1 times`]);
});

it('a subresource is another resource', () => {
  const log = [line({ verb: 'list', resource: 'agents/status', group: 'ploinky.dev' })];
  assert.equal(compareAudit(log, roles).usedNotGranted.length, 1);
});

it('other people, earlier stages and questions about one’s own rights do not count', () => {
  const log = [
    line({ verb: 'delete', resource: 'pods', user: 'admin' }),
    line({ verb: 'delete', resource: 'pods', stage: 'RequestReceived' }),
    line({ verb: 'create', resource: 'selfsubjectaccessreviews', group: 'authorization.k8s.io' }),
    JSON.stringify({
      stage: 'ResponseComplete',
      verb: 'get',
      user: { username: user },
      requestURI: '/healthz',
    }),
    '',
  ];
  assert.deepEqual(compareAudit(log, roles).usedNotGranted, []);
  assert.equal(compareAudit(log, roles).requests, 0);
});
