/**
 * Every permission of the cluster programs and every role for people, each with its reason: the one place that
 * says them. `charts/ploinky/files/rbac.yaml` is made from it. No wildcard; nothing that the code does not use:
 * `test/chart/audit.ts` compares it with what an API server was really asked.
 */
export interface Permission {
  readonly group: string;
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  /** Only these objects. `create` cannot be narrowed so. */
  readonly names?: readonly string[];
  readonly why: string;
  /** Needed in a fault or a race that a run of the tests may never see. */
  readonly rarely?: true;
}

export type RoleName =
  | 'controller'
  | 'controllerCluster'
  | 'controllerHome'
  | 'agentSecrets'
  | 'router'
  | 'routerHome'
  | 'egress'
  | 'egressHome'
  | 'view'
  | 'edit'
  | 'admin';

export interface RoleTable {
  readonly why: string;
  readonly permissions: readonly Permission[];
}

const own = 'ploinky.dev';
const core = '';
const kinds = ['agents', 'routes', 'tasks'];
const master = 'ploinky-master';

const readMaster: Permission = {
  group: core,
  resources: ['secrets'],
  names: [master],
  verbs: ['list', 'watch'],
  why: 'The master key, by its name alone: the list and the watch have the field selector metadata.name.',
};

/** The controller copies into it what Agents and Routes name in `auth`. */
const readAuth: Permission = {
  group: core,
  resources: ['secrets'],
  names: ['ploinky-auth'],
  verbs: ['list', 'watch'],
  why: 'Who may log in, by the Secret’s name alone; the router reads no Secret of agents.',
};

const controller: RoleTable = {
  why: 'The controller, wherever Agents are.',
  permissions: [
    { group: own, resources: kinds, verbs: ['list', 'watch'], why: 'What it reconciles.' },
    {
      group: own,
      resources: ['agents'],
      verbs: ['patch'],
      why: 'An Agent that was copied from a laptop brings a finalizer, which nobody else takes off.',
      rarely: true,
    },
    {
      group: own,
      resources: ['agents'],
      verbs: ['create', 'delete'],
      why: 'A Task with isolation Pod has an Agent of its own for as long as an attempt takes.',
    },
    {
      group: own,
      resources: ['tasks'],
      verbs: ['create', 'delete'],
      why: 'Schedules make Tasks, and end those beyond their limits; Tasks have a time to live.',
    },
    {
      group: own,
      resources: kinds.map((kind) => `${kind}/status`),
      verbs: ['patch'],
      why: 'What it found, by server-side apply.',
    },
    {
      group: core,
      resources: ['pods'],
      verbs: ['create', 'delete', 'list', 'watch'],
      why: 'Agents run in pods that it makes itself.',
    },
    {
      group: core,
      resources: ['pods'],
      verbs: ['patch'],
      why: 'A pod that ends again and again is ended for good, after minutes.',
      rarely: true,
    },
    {
      group: core,
      resources: ['configmaps'],
      verbs: ['create', 'delete', 'list', 'patch', 'watch'],
      why: 'Inline code of Agents; what their env refers to.',
    },
    {
      group: core,
      resources: ['configmaps'],
      verbs: ['get'],
      why: 'Whether it is there, before those of its namespace were listed.',
      rarely: true,
    },
    {
      group: core,
      resources: ['persistentvolumeclaims'],
      verbs: ['create', 'list', 'patch', 'watch'],
      why: 'One workspace a replica; an Agent takes over that of an earlier one of its name.',
    },
    {
      group: core,
      resources: ['persistentvolumeclaims'],
      verbs: ['delete'],
      why: 'Garbage collection ends those that are not retained, but for an Agent that brings a finalizer along.',
      rarely: true,
    },
    {
      group: 'networking.k8s.io',
      resources: ['networkpolicies'],
      verbs: ['create', 'delete', 'list', 'patch', 'watch'],
      why: 'One policy an Agent.',
    },
    { group: core, resources: ['events'], verbs: ['create', 'patch'], why: 'What happened to an Agent.' },
    {
      group: core,
      resources: ['events'],
      verbs: ['list'],
      why: 'Why a container is not made: the kubelet writes that nowhere else.',
      rarely: true,
    },
  ],
};

const controllerCluster: RoleTable = {
  why: 'The controller, about what belongs to no namespace; only in scope Cluster.',
  permissions: [
    {
      group: core,
      resources: ['nodes'],
      verbs: ['get'],
      why: 'A pod is ended by force only when its node is gone or out of service.',
    },
    {
      group: 'storage.k8s.io',
      resources: ['storageclasses'],
      verbs: ['get', 'list'],
      why: 'ReadWriteOncePod needs a CSI class; which class is the default.',
    },
  ],
};

const controllerHome: RoleTable = {
  why: 'The controller, in its own namespace.',
  permissions: [
    { group: 'coordination.k8s.io', resources: ['leases'], verbs: ['create'], why: 'Its election begins.' },
    {
      group: 'coordination.k8s.io',
      resources: ['leases'],
      names: ['ploinky-controller'],
      verbs: ['get', 'update'],
      why: 'Who leads.',
    },
    {
      group: 'coordination.k8s.io',
      resources: ['leases'],
      verbs: ['list', 'watch'],
      why: 'Which table each router serves.',
    },
  ],
};

const agentSecrets: RoleTable = {
  why: 'The controller, about Secrets; bound in each namespace of agents, never cluster-wide.',
  permissions: [
    {
      group: core,
      resources: ['secrets'],
      verbs: ['create', 'delete', 'get', 'list', 'patch', 'watch'],
      why: 'Keys and configuration of agents; what their env refers to; the master key at home.',
    },
  ],
};

const router: RoleTable = {
  why: 'The router, wherever Agents are.',
  permissions: [
    { group: own, resources: ['agents', 'routes'], verbs: ['list', 'watch'], why: 'Its routing table.' },
  ],
};

const routerHome: RoleTable = {
  why: 'The router, in its own namespace.',
  permissions: [
    readMaster,
    readAuth,
    {
      group: core,
      resources: ['configmaps'],
      names: ['ploinky-logouts'],
      verbs: ['list', 'watch', 'patch'],
      why: 'Sessions that ended before their time, for all routers; made by the controller.',
    },
    {
      group: 'coordination.k8s.io',
      resources: ['leases'],
      verbs: ['create', 'delete', 'patch'],
      why: 'One Lease a pod says which table it serves; the names are not known beforehand.',
    },
    {
      group: 'coordination.k8s.io',
      resources: ['leases'],
      verbs: ['list', 'watch'],
      why: 'Where the other routers are, to tell them which sessions ended.',
    },
  ],
};

const egress: RoleTable = {
  why: 'The egress proxy, wherever Agents are.',
  permissions: [{ group: own, resources: ['agents'], verbs: ['list', 'watch'], why: 'What each may reach.' }],
};

const egressHome: RoleTable = {
  why: 'The egress proxy, in its own namespace.',
  permissions: [readMaster],
};

const write = ['create', 'delete', 'patch', 'update'];

const view: RoleTable = {
  why: 'People who look; added to the role view.',
  permissions: [{ group: own, resources: kinds, verbs: ['get', 'list', 'watch'], why: 'To look.' }],
};

const edit: RoleTable = {
  why: 'People who write Agents; added to the role edit. Who may make an Agent may use the Secrets of its namespace, as with pods.',
  permissions: [
    { group: own, resources: kinds, verbs: ['get', 'list', 'watch', ...write], why: 'To look and write.' },
    {
      group: own,
      resources: ['agents/scale'],
      verbs: ['get', 'patch', 'update'],
      why: 'kubectl scale and autoscalers.',
    },
  ],
};

const admin: RoleTable = {
  why: 'Who owns a namespace; added to the role admin.',
  permissions: [
    ...edit.permissions,
    { group: own, resources: kinds, verbs: ['deletecollection'], why: 'kubectl delete --all.' },
  ],
};

export const roles: Readonly<Record<RoleName, RoleTable>> = {
  controller,
  controllerCluster,
  controllerHome,
  agentSecrets,
  router,
  routerHome,
  egress,
  egressHome,
  view,
  edit,
  admin,
};

/** Every permission that is there for faults and races, one verb and resource each. */
export function rarePermissions(): { group: string; resource: string; verb: string }[] {
  const all = Object.values(roles).flatMap(({ permissions }) => permissions);
  return all
    .filter(({ rarely }) => rarely)
    .flatMap(({ group, resources, verbs }) =>
      resources.flatMap((resource) => verbs.map((verb) => ({ group, resource, verb }))),
    );
}
