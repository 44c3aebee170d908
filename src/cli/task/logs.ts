import type { Task } from '#api/task.ts';
import type { Client } from '#kube/client.ts';
import type { Cli } from '../context.ts';
import type { Router } from '../router.ts';
import { harmless } from '../terminal.ts';
import { followTask } from './follow-task.ts';
import { type LiveTask, placeOf, readLiveTask } from './live-task.ts';
import { newLogOf } from './new-log.ts';
import { isFinished } from './phase.ts';
import { readPatiently } from './read-patiently.ts';

/** Milliseconds between two looks at a log that is followed. */
const lookMs = 500;

/** Prints the log as it is now. False: there is none. */
export async function showLog(cli: Cli, router: Router, task: Task): Promise<boolean> {
  const place = placeOf(task);
  if (place === undefined) return false;
  const live = await readLiveTask(router, { ...place, signal: cli.interrupted });
  if (live === undefined) return false;
  createPrinter(cli).print(live);
  return true;
}

export interface FollowedLog {
  readonly router: Router;
  readonly client: Client;
  /** As it is now. */
  readonly task: Task;
}

/** Prints the log of each attempt as it grows, until the Task has ended. False: there was none. */
export async function followLog(cli: Cli, { router, client, task: first }: FollowedLog): Promise<boolean> {
  const over = new AbortController();
  const signal = AbortSignal.any([over.signal, cli.interrupted]);
  const { name, namespace = 'default' } = first.metadata;
  const latest = keepLatest(first, followTask(client, { namespace, name, clock: cli.clock, signal }));
  const printer = createPrinter(cli);
  try {
    for (;;) {
      const task = latest.task();
      const place = task === undefined ? undefined : placeOf(task);
      if (place !== undefined) {
        const live = await readPatiently({
          ...{ clock: cli.clock, router, signal },
          read: (at) => readLiveTask(at, { ...place, signal }),
        });
        printer.attempt(place.taskId);
        if (live !== undefined) printer.print(live);
      }
      // What was written last is read after the end was heard of.
      if (task === undefined ? latest.ended() : isFinished(task)) return printer.any();
      await cli.clock.sleep(lookMs, signal);
    }
  } finally {
    over.abort();
    await latest.done;
  }
}

/** The last thing that was told of a Task, while it is followed. */
function keepLatest(first: Task, followed: AsyncIterable<Task | undefined>) {
  let task: Task | undefined = first;
  let ended = false;
  let failure: unknown;
  const done = (async () => {
    for await (const next of followed) {
      task = next;
      if (next === undefined || isFinished(next)) return;
    }
  })()
    .catch((error: unknown) => {
      failure = error;
    })
    .finally(() => {
      ended = true;
    });
  return {
    done,
    ended: () => ended,
    task() {
      if (failure !== undefined) throw failure;
      return task;
    },
  };
}

function createPrinter({ terminal }: Cli) {
  let before = '';
  let pieces = 0;
  let attempt: string | undefined;
  let any = false;
  return {
    any: () => any,
    /** What comes from now on is of this attempt. */
    attempt(id: string) {
      if (attempt !== undefined && attempt !== id) {
        before = '';
        pieces = 0;
        terminal.note('--- next attempt ---');
      }
      attempt = id;
    },
    print({ logTail, logSeq, logTruncated: truncated }: LiveTask) {
      any = true;
      const { text, gap } = newLogOf(before, logTail, { truncated, grown: logSeq > pieces });
      if (gap && text !== '') terminal.note('--- the beginning is not kept ---');
      if (text !== '') terminal.write(harmless(text));
      before = logTail;
      pieces = logSeq;
    },
  };
}
