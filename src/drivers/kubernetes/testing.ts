import type { ContainerStatus, Pod, PodStatus } from '#api/cluster-kinds.ts';
import { slotLabel, specHashAnnotation } from '#api/labels.ts';
import { runOf } from '../bwrap/testing.ts';
import type { Workload } from '../workload.ts';
import type { PodFacts } from './observe/pod-facts.ts';
import type { PodSettings } from './settings.ts';

/** Facts and objects for this folder's tests: everything is well unless a test says otherwise. */

export const noon = Date.parse('2026-01-01T12:00:00Z');

export const settings: PodSettings = {
  homeNamespace: 'ploinky-system',
  agentImage: 'registry.test/agent:1',
  bundleImage: 'registry.test/agent:1',
  bundle: 'ImageVolume',
  routerAddress: '10.96.0.1:8081',
  egressAddress: '10.96.0.2:3128',
  accessMode: 'Auto',
};

export function workloadOf(change: Partial<Workload> = {}): Workload {
  const { workload } = runOf();
  return { ...workload, specHash: 'A', ...change };
}

export function podFacts(change: Partial<PodFacts> = {}): PodFacts {
  return {
    name: 'demo-0-abcde',
    uid: 'p0',
    slot: 0,
    specHash: 'A',
    serverImage: undefined,
    createdAt: noon,
    terminating: false,
    goneBy: undefined,
    serving: true,
    hasRun: true,
    bootingSince: undefined,
    ready: true,
    address: '10.0.0.9:7000',
    betweenStarts: false,
    installing: false,
    unexplained: false,
    restarts: 0,
    lastExit: undefined,
    exit: undefined,
    isGivenUp: false,
    fault: undefined,
    commit: undefined,
    codeMap: undefined,
    ...change,
  };
}

/** A pod whose agent-server runs and is Ready. */
export function podOf(status: PodStatus = {}, metadata: Partial<Pod['metadata']> = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'demo-0-abcde',
      namespace: 'default',
      uid: 'p0',
      creationTimestamp: '2026-01-01T12:00:00Z',
      labels: { [slotLabel]: '0' },
      annotations: { [specHashAnnotation]: 'A' },
      ...metadata,
    },
    spec: { containers: [] },
    status: {
      phase: 'Running',
      podIP: '10.0.0.9',
      conditions: [
        { type: 'PodScheduled', status: 'True' },
        { type: 'ContainersReady', status: 'True' },
        { type: 'Ready', status: 'True' },
      ],
      containerStatuses: [containerOf()],
      ...status,
    },
  };
}

export function containerOf(change: Partial<ContainerStatus> = {}): ContainerStatus {
  return {
    name: 'agent',
    ready: true,
    started: true,
    restartCount: 0,
    state: { running: { startedAt: '2026-01-01T12:00:01Z' } },
    ...change,
  };
}
