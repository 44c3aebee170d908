import type { Task } from '#api/task.ts';
import { type CallProgress, createCallProgress } from '../call-progress.ts';
import type { Cli } from '../context.ts';
import { withAnyRouter } from '../session.ts';
import type { GlobalOptions } from '../target.ts';
import { harmless } from '../terminal.ts';
import { type LiveTask, placeOf, readLiveTask } from './live-task.ts';
import { hindranceOf, isFinished, phaseOf, refusalOf } from './phase.ts';

/** Shows how Tasks do that are waited for: in one line that is drawn again, else a line for each change of phase. */
export interface TaskProgress {
  update(task: Task): void;
  /** Takes the line away. */
  end(): Promise<void>;
}

/** Milliseconds between two looks at a task that runs. */
const lookMs = 1_000;

/** What the agent itself says of a single task is asked as well, where somebody sees it. */
export function showTaskProgress(
  cli: Cli,
  options: GlobalOptions,
  { count }: { count: number },
): TaskProgress {
  const { terminal, clock } = cli;
  const line = createCallProgress(terminal);
  const tasks = new Map<string, Task>();
  const said = new Map<string, string>();
  const ended = new AbortController();
  let looking: Promise<void> | undefined;
  let live: LiveTask | undefined;

  const draw = () => drawLine(line, { tasks: [...tasks.values()], count, live, now: clock.now() });
  /** Nothing of this is needed: without a way to the router the phases are all that is shown. */
  const look = () =>
    withAnyRouter(cli, options, async (router) => {
      while (!ended.signal.aborted) {
        const [running] = [...tasks.values()].filter((task) => phaseOf(task) === 'Running');
        const place = running === undefined ? undefined : placeOf(running);
        if (place !== undefined) live = await readLiveTask(router, { ...place, signal: ended.signal });
        if (!ended.signal.aborted) draw();
        await clock.sleep(lookMs, ended.signal);
      }
    }).catch(() => undefined);

  return {
    update(task) {
      const { name } = task.metadata;
      tasks.set(name, task);
      const news = newsOf(task);
      if (said.get(name) !== news) {
        const first = !said.has(name);
        said.set(name, news);
        // On a terminal the line shows phases; what hinders a Task is worth a line that stays.
        const hindered = refusalOf(task) !== undefined || hindranceOf(task) !== undefined;
        if (hindered || (!terminal.interactive && !(first && phaseOf(task) === 'Pending'))) line.say(news);
      }
      if (!isFinished(task)) draw();
      if (terminal.interactive && count === 1 && phaseOf(task) === 'Running') looking ??= look();
    },
    async end() {
      ended.abort();
      line.clear();
      await looking;
    },
  };
}

function newsOf(task: Task): string {
  const refusal = refusalOf(task);
  const attempts = task.status?.attempts ?? 0;
  const again = attempts > 1 ? `, attempt ${attempts}` : '';
  const hindrance = hindranceOf(task);
  const why = refusal === undefined ? (hindrance ?? '') : `not accepted: ${refusal.message}`;
  return harmless(`task ${task.metadata.name}: ${phaseOf(task)}${again}${why === '' ? '' : `, ${why}`}`);
}

interface Shown {
  readonly tasks: readonly Task[];
  readonly count: number;
  readonly live: LiveTask | undefined;
  readonly now: number;
}

function drawLine(line: CallProgress, { tasks, count, live, now }: Shown): void {
  const [only] = tasks;
  if (count > 1 || only === undefined) {
    const finished = tasks.filter(isFinished).length;
    line.show({ progress: finished, total: count, message: `${finished} of ${count} tasks have ended` });
    return;
  }
  const running = phaseOf(only) === 'Running';
  const waits = running && live?.status === 'input_required' ? ', waits for an answer' : '';
  const message = live?.progress?.['message'];
  const more = running && typeof message === 'string' && message !== '' ? `: ${message}` : '';
  const about = `${only.metadata.name} ${phaseOf(only)}${elapsed(only, now)}${waits}${more}`;
  line.show({ ...(running && live?.progress), message: about });
}

function elapsed({ status }: Task, now: number): string {
  const since = Date.parse(status?.startedAt ?? '');
  return Number.isNaN(since) ? '' : ` ${Math.max(0, Math.round((now - since) / 1000))} s`;
}
