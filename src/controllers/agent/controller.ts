import { type Controller, createController } from '#kube/controller.ts';
import type { ObjectKey } from '#kube/key.ts';
import { noMetrics } from '#kube/metrics.ts';
import { settled } from '#kube/result.ts';
import { followChanges } from '#wire/changes.ts';
import { handOver } from '#wire/hand-over.ts';
import { createGather } from './gather-facts.ts';
import { createHandOvers } from './hand-overs.ts';
import type { AgentControllerOptions } from './options.ts';
import { createAgentReconciler } from './reconcile.ts';
import { createAgentReports } from './reports.ts';
import { createSources } from './sources.ts';
import { createTaskMetrics } from './task-metrics.ts';
import { createUpgrades } from './upgrades.ts';

/** Agents → workloads. Watches Agents, what they refer to, the drivers and the agent-servers' change streams. */
export function createAgentController(options: AgentControllerOptions): Controller {
  const { agents, clock, random, log } = options;
  let reported: (key: ObjectKey) => void = () => undefined;
  const reports = createAgentReports({
    open: followChanges,
    clock,
    random,
    log,
    onChange: (id) => reported(id),
    tasks: options.taskListener,
    queues: createTaskMetrics(options.metrics ?? noMetrics),
  });
  const handOvers = createHandOvers({ send: handOver, clock, random, log });
  const uids = new Map<string, string>();
  const reconciler = createAgentReconciler({
    client: options.client,
    drivers: options.drivers,
    reports,
    handOvers,
    host: options.host,
    events: options.events,
    upgrades: createUpgrades(),
    observe: agents.observe,
    gather: createGather(options, (uid) => reports.get(uid)),
  });
  const controller = createController({
    name: 'agent',
    concurrency: options.concurrency ?? 8,
    clock,
    random,
    log,
    ...(options.metrics && { metrics: options.metrics }),
    sources: createSources(options, (enqueue) => {
      reported = enqueue;
    }),
    async reconcile(key) {
      const agent = agents.cache.get(key);
      const name = `${key.namespace}/${key.name}`;
      const uid = uids.get(name);
      if (uid !== undefined && uid !== agent?.metadata.uid) {
        if (!(await reconciler.forget({ ...key, uid }))) return settled;
        uids.delete(name);
      }
      if (agent === undefined) return settled;
      uids.set(name, agent.metadata.uid ?? '');
      return reconciler.reconcile(agent);
    },
  });
  return {
    ...bind(controller),
    async stop(stopOptions) {
      await controller.stop(stopOptions);
      reports.close();
      handOvers.close();
    },
  };
}

function bind(controller: Controller): Controller {
  return {
    name: controller.name,
    start: () => controller.start(),
    enqueue: (key) => controller.enqueue(key),
    stop: (stopOptions) => controller.stop(stopOptions),
  };
}
