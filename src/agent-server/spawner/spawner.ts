import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { createFrameDecoder, type Frame, frameTypes, type Template } from '../tools/spawner-protocol.ts';
import { createLink } from './link.ts';
import { createPool, type Pool } from './pool.ts';
import { findMarked, signalProcess } from './processes.ts';
import type { ToolProcess } from './tool-process.ts';

/** Milliseconds after a call's end until what it left behind in another session is looked for. */
const sweepMs = 1000;

export interface SpawnerOptions {
  readonly connection: Duplex;
  /** Distinguishes this spawner's processes from those of earlier ones. */
  readonly generation: string;
  /** Path of native/reaper.c's program. Without it, what a call leaves behind is looked for by its traces. */
  readonly reaper?: string | undefined;
  /** Frees the memory of what was read and dropped. */
  readonly reclaim?: () => void;
  /** Called once, when the agent-server is gone and every process was ended. */
  readonly onEnd: () => void;
}

/** Serves the protocol of spawner-protocol.ts until the connection ends. */
export function runSpawner({ connection, generation, reaper, reclaim, onEnd }: SpawnerOptions): void {
  const link = createLink(connection);
  const pools = new Map<number, Pool>();
  const calls = new Map<number, ToolProcess>();
  const decoder = createFrameDecoder();
  let count = 0;
  let sweep: NodeJS.Timeout | undefined;
  const nextMarker = () => `${generation}.${++count}`;

  function handle({ type, id, payload }: Frame): void {
    if (type === frameTypes.spawn) startCall(id, payload);
    else if (type === frameTypes.kill) calls.get(id)?.kill();
    else if (type === frameTypes.answer) calls.get(id)?.answer(payload);
    else if (type === frameTypes.define) define(id, JSON.parse(payload.toString('utf8')) as Template);
    else if (type === frameTypes.forget) forget(id);
    else if (type === frameTypes.sweep) void killGeneration(payload.toString('utf8'));
  }
  function define(id: number, template: Template): void {
    pools.get(id)?.close();
    const pool = createPool(template, { link, reaper, reclaim }, nextMarker);
    pools.set(id, pool);
    pool.refill();
  }
  function forget(id: number): void {
    pools.get(id)?.close();
    pools.delete(id);
  }
  function startCall(call: number, payload: Buffer): void {
    const pool = pools.get(payload.readUInt32LE(0));
    if (pool === undefined) {
      link.sendJson(frameTypes.failed, call, { code: 'UNKNOWN_TEMPLATE', message: 'unknown template' });
      return;
    }
    const started = pool.take({
      onFailed(failure) {
        calls.delete(call);
        link.sendJson(frameTypes.failed, call, failure);
      },
      onExit(exit) {
        calls.delete(call);
        link.sendJson(frameTypes.exit, call, exit);
        if (reaper === undefined || exit.signal === 'SIGKILL') sweep ??= setTimeout(sweepEnded, sweepMs);
      },
    });
    calls.set(call, started);
    started.serve(call, payload.subarray(4));
  }
  /** What a call that ended by itself left in another session ends too: a call's processes end with it. */
  function sweepEnded(): void {
    sweep = undefined;
    const alive = new Set([...calls.values()].map((call) => call.marker));
    killMarked((marker) => marker.startsWith(`${generation}.`) && !alive.has(marker) && !isWaiting(marker));
  }
  const isWaiting = (marker: string) => [...pools.values()].some((pool) => pool.isWaiting(marker));

  connection.on('data', (chunk: Buffer) => {
    for (const frame of decoder.push(chunk)) handle(frame);
  });
  connection.once('close', () => {
    clearTimeout(sweep);
    for (const pool of pools.values()) pool.close();
    for (const call of calls.values()) call.destroy();
    void killGeneration(generation).then(onEnd);
  });
  connection.on('error', () => connection.destroy());
  link.send(frameTypes.ready, 0);
}

/** Kills until nothing of the generation is found: the dying are seen for a moment longer. */
async function killGeneration(generation: string): Promise<void> {
  for (let round = 0; round < 100; round++) {
    if (!killMarked((marker) => marker.startsWith(`${generation}.`))) return;
    await sleep(5);
  }
}

/** True when there was something to kill. */
function killMarked(matches: (marker: string) => boolean): boolean {
  const victims = findMarked(matches);
  for (const victim of victims) signalProcess(victim, 'SIGKILL');
  return victims.length > 0;
}
