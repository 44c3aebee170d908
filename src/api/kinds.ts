import type { z } from 'zod';
import { agentSpecSchema, agentStatusSchema } from './agent.ts';
import type { Resource } from './meta.ts';
import { agentResource, routeResource, taskResource } from './resources.ts';
import { routeSpecSchema, routeStatusSchema } from './route.ts';
import { taskSpecSchema } from './task/spec.ts';
import { taskStatusSchema } from './task/status.ts';

export type KindName = 'Agent' | 'Route' | 'Task';

/** A column of `kubectl get`. `priority` 1: only with `-o wide`. */
export interface PrinterColumn {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'date';
  readonly jsonPath: string;
  readonly description?: string;
  readonly priority?: number;
}

/** One of our kinds, with everything that its CRD, its validation and its documentation are made from. */
export interface Kind {
  readonly resource: Resource;
  readonly singular: string;
  readonly shortName: string;
  readonly description: string;
  readonly spec: z.ZodType;
  readonly status: z.ZodType;
  readonly columns: readonly PrinterColumn[];
  readonly scale?: {
    readonly specReplicasPath: string;
    readonly statusReplicasPath: string;
    readonly labelSelectorPath: string;
  };
  /** Longest name. Its workloads, hosts and labels carry it. */
  readonly maxNameLength: number;
  readonly namePattern: RegExp;
  /** CEL over spec and oldSelf that an update must satisfy. */
  readonly transition?: { readonly rule: string; readonly message: string };
}

/** DNS-1123 label and subdomain (RFC 1123). */
const labelPattern = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const subdomainPattern = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

const age: PrinterColumn = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };

const agentKind: Kind = {
  resource: agentResource,
  singular: 'agent',
  shortName: 'ag',
  description: 'An AI agent: code, tools and the sandbox or pod that they run in.',
  spec: agentSpecSchema,
  status: agentStatusSchema,
  columns: [
    conditionColumn('Ready'),
    {
      name: 'Runtime',
      type: 'string',
      jsonPath: '.status.runtime',
      description: 'Substrate that it runs on.',
    },
    { name: 'Replicas', type: 'integer', jsonPath: '.status.replicas', description: 'Workloads that exist.' },
    { name: 'Tools', type: 'integer', jsonPath: '.status.toolCount', description: 'Tools that it offers.' },
    age,
    {
      name: 'Reason',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Ready")].reason',
      description: 'Why it is or is not Ready.',
      priority: 1,
    },
  ],
  scale: {
    specReplicasPath: '.spec.runtime.replicas',
    statusReplicasPath: '.status.replicas',
    labelSelectorPath: '.status.selector',
  },
  maxNameLength: 63,
  namePattern: labelPattern,
};

const routeKind: Kind = {
  resource: routeResource,
  singular: 'route',
  shortName: 'rt',
  description: 'Which agents appear under which hosts and paths of the router, with which of their surfaces.',
  spec: routeSpecSchema,
  status: routeStatusSchema,
  columns: [
    conditionColumn('Accepted'),
    conditionColumn('Programmed'),
    { name: 'Hosts', type: 'string', jsonPath: '.spec.hosts', description: 'Host names; none: every host.' },
    { name: 'Paths', type: 'string', jsonPath: '.spec.paths', description: 'Paths of its surfaces.' },
    age,
    {
      name: 'Reason',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Accepted")].reason',
      description: 'Why it is or is not Accepted.',
      priority: 1,
    },
  ],
  maxNameLength: 63,
  namePattern: labelPattern,
};

const taskKind: Kind = {
  resource: taskResource,
  singular: 'task',
  shortName: 'tk',
  description: 'One durable execution: a tool call or a session prompt, or a schedule that makes them.',
  spec: taskSpecSchema,
  status: taskStatusSchema,
  columns: [
    { name: 'Agent', type: 'string', jsonPath: '.status.agent', description: 'Agent that it was given to.' },
    { name: 'Tool', type: 'string', jsonPath: '.spec.tool', description: 'Tool that it calls.' },
    { name: 'Phase', type: 'string', jsonPath: '.status.phase', description: 'Where it is.' },
    {
      name: 'Attempts',
      type: 'integer',
      jsonPath: '.status.attempts',
      description: 'How often it was given to an agent.',
    },
    age,
    {
      name: 'Next',
      // Not `date`: kubectl tells how long ago that was, and calls a time to come invalid.
      type: 'string',
      jsonPath: '.status.nextScheduleTime',
      description: 'Next time of its schedule.',
      priority: 1,
    },
    {
      name: 'Reason',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Complete")].reason',
      description: 'How it ended.',
      priority: 1,
    },
  ],
  maxNameLength: 253,
  namePattern: subdomainPattern,
  transition: {
    rule: 'has(oldSelf.schedule) || oldSelf.suspend || self == oldSelf',
    message:
      'a Task cannot change once it is made, unless it has a schedule or is suspended; delete it and make another',
  },
};

export const kinds: Readonly<Record<KindName, Kind>> = { Agent: agentKind, Route: routeKind, Task: taskKind };

function conditionColumn(type: string): PrinterColumn {
  return {
    name: type,
    type: 'string',
    jsonPath: `.status.conditions[?(@.type=="${type}")].status`,
    description: `Status of the condition ${type}.`,
  };
}
