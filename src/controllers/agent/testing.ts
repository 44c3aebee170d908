import { type Agent, agentSpecSchema } from '#api/agent.ts';
import type { Observed, ObservedInstance } from '#drivers/workload.ts';
import type { AgentFacts, AgentReport } from './facts.ts';
import { emptyHistory } from './history.ts';

/** Facts and objects for this folder's tests: everything is well unless a test says otherwise. */

export const noon = Date.parse('2026-01-01T12:00:00Z');

export function makeAgent(spec: object = {}, metadata: Partial<Agent['metadata']> = {}): Agent {
  return {
    apiVersion: 'ploinky.dev/v1alpha1',
    kind: 'Agent',
    metadata: {
      name: 'demo',
      namespace: 'default',
      uid: 'uid-demo',
      generation: 1,
      resourceVersion: '7',
      ...metadata,
    },
    spec: agentSpecSchema.parse(spec),
  };
}

export function makeFacts(facts: Partial<AgentFacts> = {}): AgentFacts {
  return {
    agent: makeAgent(),
    refusals: [],
    runtime: { ok: true, class: 'Bwrap', driver: 'bwrap' },
    environment: { values: {}, missing: [], secrets: [], revision: 'r0' },
    dependencies: { missing: [], waiting: [], cycle: [] },
    masterKeys: [{ kid: 'k0', secret: Buffer.alloc(32, 7) }],
    history: emptyHistory,
    observed: undefined,
    reports: [],
    blocked: undefined,
    now: noon,
    ...facts,
  };
}

export function makeInstance(instance: Partial<ObservedInstance> = {}): ObservedInstance {
  return {
    name: 'demo-0',
    uid: 'i1',
    address: 'unix:/run/demo',
    terminating: false,
    startedAt: noon,
    ...instance,
  };
}

export function makeObserved(observed: Partial<Observed> = {}): Observed {
  return {
    phase: 'Running',
    message: '',
    specHash: 'h1',
    instances: [makeInstance()],
    limitsEnforced: true,
    ...observed,
  };
}

export function makeReport(report: Partial<AgentReport> = {}): AgentReport {
  return {
    instance: 'i1',
    version: '0.1.0',
    ready: true,
    reason: 'Ready',
    message: '',
    toolCount: 2,
    toolsDigest: 'd1',
    idle: false,
    ...report,
  };
}
