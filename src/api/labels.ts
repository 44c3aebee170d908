/** Names in metadata that people and programs may rely on, each with what it means. */

/** Label on everything made for an Agent; its value is the Agent's name. */
export const agentLabel = 'ploinky.dev/agent';
/** Label with the Agent's role (`spec.role`, else its name). */
export const roleLabel = 'ploinky.dev/role';
/** Label on everything made on a cluster for an Agent: its uid. */
export const agentUidLabel = 'ploinky.dev/agent-uid';
/** Label on a pod: which of the Agent's replicas it stands for, from 0. */
export const slotLabel = 'ploinky.dev/slot';
/** Annotation on a pod: digest of the spec that it was made from. */
export const specHashAnnotation = 'ploinky.dev/spec-hash';
/** Annotation on a pod: the image that its agent-server came from. One with an older one is replaced when nobody uses it. */
export const agentServerImageAnnotation = 'ploinky.dev/agent-server-image';
/** Label on a Task that a schedule made; its value is the name of the Task with the schedule. */
export const scheduledByLabel = 'ploinky.dev/scheduled-by';
/**
 * Label on an Agent that was made for one attempt of a Task with `isolation: Pod`; its value is the Task's name, cut
 * where it is longer than a label may be. Such an Agent is in no Route.
 */
export const taskLabel = 'ploinky.dev/task';
/** Label on a Task that stands for a task that a client of an Agent began; its value is the Agent's name. */
export const trackedLabel = 'ploinky.dev/tracked-from';
/** Annotation on a Task: any value cancels it. The Task stays, with phase Cancelled. */
export const cancelAnnotation = 'ploinky.dev/cancel';
/** Kubernetes' own label for the tool that manages an object. */
export const managedByLabel = 'app.kubernetes.io/managed-by';
export const managedByValue = 'ploinky';

/**
 * Annotation on an Agent: any new value (the CLI writes the time) stops and starts it once.
 * It is also how a Halted agent resumes: a new value closes the circuit breaker.
 */
export const restartAnnotation = 'ploinky.dev/restart';

/** Annotation on a Task that was made from the spec of another: the name of that one. */
export const retryOfAnnotation = 'ploinky.dev/retry-of';

/** Annotation on a router's Lease: the digest of the routing table that it serves. */
export const routerTableAnnotation = 'ploinky.dev/routing-table';

/** Annotation on a router's Lease: names that several agents of a Route have, as its lists showed. */
export const routerConflictsAnnotation = 'ploinky.dev/name-conflicts';

/** Annotation on a router's Lease: `IP:PORT` where other routers tell it which sessions ended; absent on a laptop. */
export const routerPeerAnnotation = 'ploinky.dev/router-peer';

/** Kubernetes' own label for the part that an object plays; what a router's Lease is found by. */
export const componentLabel = 'app.kubernetes.io/component';
export const routerComponent = 'router';

/** Annotation on an Agent: with `true`, its files are also served at the router's root. */
export const staticRootAnnotation = 'ploinky.dev/static-root';

/** Annotation on Secret `ploinky-secrets`: when each of its keys was set, as JSON. */
export const secretsChangedAnnotation = 'ploinky.dev/changed';

/** Prefixes of labels and annotations that an author's podTemplate may not use. */
export const reservedPrefixes = ['ploinky.dev/', 'app.kubernetes.io/'] as const;

/** Text of the documentation: every name above with its meaning. */
export const documentedNames: readonly { name: string; kind: 'label' | 'annotation'; meaning: string }[] = [
  { name: agentLabel, kind: 'label', meaning: 'On everything made for an Agent: the Agent’s name.' },
  { name: roleLabel, kind: 'label', meaning: 'The role of the Agent: spec.role, else its name.' },
  {
    name: agentUidLabel,
    kind: 'label',
    meaning: 'On everything made on a cluster for an Agent: the Agent’s uid.',
  },
  { name: slotLabel, kind: 'label', meaning: 'On a pod: which replica of the Agent it is, from 0.' },
  {
    name: specHashAnnotation,
    kind: 'annotation',
    meaning: 'On a pod: digest of the spec that it was made from. A pod with another one is replaced.',
  },
  {
    name: agentServerImageAnnotation,
    kind: 'annotation',
    meaning:
      'On a pod: the image that its agent-server came from. A pod with another one than the controller’s is replaced when nobody uses it, a few at a time.',
  },
  {
    name: scheduledByLabel,
    kind: 'label',
    meaning: 'On a Task made by a schedule: the Task with the schedule.',
  },
  {
    name: taskLabel,
    kind: 'label',
    meaning: 'On an Agent made for one attempt of a Task with `isolation: Pod`: the Task. It is in no Route.',
  },
  {
    name: trackedLabel,
    kind: 'label',
    meaning:
      'On a Task made for `spec.tasks.track`: the Agent whose client began it. Nothing is executed for such a Task.',
  },
  {
    name: cancelAnnotation,
    kind: 'annotation',
    meaning:
      'On a Task: any value cancels it and leaves the Task, with phase Cancelled. To delete a Task cancels it, too.',
  },
  {
    name: managedByLabel,
    kind: 'label',
    meaning: `\`${managedByValue}\` on every object that the controller makes.`,
  },
  {
    name: staticRootAnnotation,
    kind: 'annotation',
    meaning:
      'On an Agent of the router’s home namespace: with `true`, its files are also served at `/`. The oldest such Agent wins.',
  },
  {
    name: restartAnnotation,
    kind: 'annotation',
    meaning:
      'On an Agent: a new value stops and starts it once, and resumes it when it is Halted (`ploinky restart NAME`, or `kubectl annotate ag NAME ploinky.dev/restart="$(date)" --overwrite`).',
  },
  {
    name: retryOfAnnotation,
    kind: 'annotation',
    meaning: 'On a Task: the Task whose spec it has (`ploinky task retry NAME`).',
  },
  {
    name: routerTableAnnotation,
    kind: 'annotation',
    meaning: 'On a router’s Lease: the digest of the routing table that it serves.',
  },
  {
    name: routerConflictsAnnotation,
    kind: 'annotation',
    meaning:
      'On a router’s Lease: names that several agents of a Route have, as JSON by Route; the controller writes them as `status.conflicts`.',
  },
  {
    name: routerPeerAnnotation,
    kind: 'annotation',
    meaning: 'On a router’s Lease on a cluster: where other routers tell it which sessions ended.',
  },
  {
    name: secretsChangedAnnotation,
    kind: 'annotation',
    meaning: 'On Secret `ploinky-secrets`: when `ploinky secret` set each of its keys, as JSON.',
  },
  {
    name: componentLabel,
    kind: 'label',
    meaning: `\`${routerComponent}\` on a router’s Lease.`,
  },
];
