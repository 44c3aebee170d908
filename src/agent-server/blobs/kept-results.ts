import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Clock } from '#kit/clock.ts';
import { messageOf } from '#kit/errors.ts';
import type { Log } from '#kit/log.ts';
import { blobId, blobUri } from '#wire/blobs.ts';
import { isEnded, largestResult } from '#wire/task-line.ts';
import type { TaskRecord } from '../queue/queue.ts';
import type { TaskService } from '../tasks/service.ts';
import type { BlobStore } from './store.ts';

export interface KeptResultsOptions {
  readonly store: BlobStore;
  readonly agent: string;
  readonly slot: number | undefined;
  /** Seconds that a result stays after the end of its task. */
  readonly ttlSeconds: number;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Log;
}

/** The same tasks; results of the controller's that its Task has no room for are blobs, which the records name. */
export function keepResults<Tasks extends TaskService>(tasks: Tasks, options: KeptResultsOptions): Tasks {
  /** Several may ask for the same end at once. */
  const keeping = new Map<string, ReturnType<typeof keep>>();
  const keepOnce = (record: TaskRecord) => {
    const running = keeping.get(record.id) ?? keep(record, options).finally(() => keeping.delete(record.id));
    keeping.set(record.id, running);
    return running;
  };
  const named = async (record: TaskRecord) => {
    const resultBlob = isLarge(record) ? await keepOnce(record) : undefined;
    return resultBlob === undefined ? record : { ...record, resultBlob };
  };
  const maybe = async (record: TaskRecord | undefined) => record && named(record);
  const changed: Partial<TaskService> = {
    submit: async (order) => named(await tasks.submit(order)),
    get: async (id) => maybe(await tasks.get(id)),
    getByKey: async (key) => maybe(await tasks.getByKey(key)),
  };
  return Object.assign(Object.create(tasks) as Tasks, changed);
}

function isLarge({ key, result, status }: TaskRecord): boolean {
  if (key === null || result === null || !isEnded({ status })) return false;
  return Buffer.byteLength(JSON.stringify(result)) > largestResult;
}

/** The blob's URI; undefined where it cannot be kept, or its time is over. */
async function keep(record: TaskRecord, options: KeptResultsOptions): Promise<string | undefined> {
  const text = JSON.stringify(record.result);
  const { store, agent, slot, log } = options;
  const id = blobId(idOf(record), slot);
  try {
    const found = await store.find(id);
    await found?.close();
    if (found === undefined) {
      const ttlSeconds = secondsLeft(record, options);
      // Else each look at the task would make it anew.
      if (ttlSeconds <= 0) return undefined;
      const about = { id, mime: 'application/json', filename: `${record.toolName}.json`, ttlSeconds };
      const upload = { ...about, bytes: undefined, sha256: undefined, url: undefined };
      await store.put(upload, Readable.from([Buffer.from(text)]));
    }
    return blobUri(agent, id);
  } catch (error) {
    log.warn('A large result could not be kept as a blob', { task: record.id, error: messageOf(error) });
    return undefined;
  }
}

function secondsLeft({ finishedAt }: TaskRecord, { ttlSeconds, clock }: KeptResultsOptions): number {
  const now = clock.now();
  const ended = finishedAt === null ? now : Date.parse(finishedAt);
  return (ended - now) / 1000 + ttlSeconds;
}

/** The same for every look at one end of a task; nobody guesses it who does not know the task's id. */
function idOf({ id, attempt, createdAt }: TaskRecord): Buffer {
  return createHash('sha256').update(`result ${id} ${attempt} ${createdAt}`).digest().subarray(0, 22);
}
