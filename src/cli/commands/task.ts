import type { Command } from 'commander';
import type { Cli } from '../context.ts';
import { addTaskCancel } from './task-cancel.ts';
import { addTaskGet, addTaskList } from './task-list.ts';
import { addTaskLogs } from './task-logs.ts';
import { addTaskRetry, addTaskRun } from './task-run.ts';
import { addTaskWait } from './task-wait.ts';

const help = `
A task is one durable execution of a tool, kept as an object of kind Task: it survives restarts of everything, waits
for its agent, and its result is kept with it. What a schedule, dependencies and other fields do:
\`ploinky apply -f task.yaml\`, docs/reference/task.md.

Examples:
  ploinky task run hello greet name=Ana
  ploinky task list --phase Running
  ploinky task logs greet-x7k2p -f

Exits with 7 when a task that was waited for did not succeed.`;

/** In the order of the help text. */
const verbs = [addTaskRun, addTaskList, addTaskGet, addTaskWait, addTaskLogs, addTaskCancel, addTaskRetry];

export function addTask(program: Command, cli: Cli): void {
  const task = program
    .command('task')
    .description('run tools as tasks that outlive this program, and see what becomes of them')
    .addHelpText('after', help);
  for (const add of verbs) add(task, cli);
}
