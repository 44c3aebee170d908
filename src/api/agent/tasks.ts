import { z } from 'zod';
import { bytes, seconds } from '../schema/fields.ts';

const count = z.int().min(0).max(1_000_000);

const limitsSchema = z.strictObject({
  maxQueued: count.describe('Executions that wait; more are refused. Default: 10000.').optional(),
  maxQueuedBytes: bytes
    .describe('Bytes of the arguments of tasks that wait; more are refused. Default: 256 MiB.')
    .optional(),
  maxFinished: count
    .describe(
      'Finished tasks that are remembered, and as many again of those of Task resources. Default: 1000.',
    )
    .optional(),
  maxFinishedBytes: bytes
    .describe('Bytes of them: arguments, results and logs. Default: 256 MiB.')
    .optional(),
  retentionSeconds: seconds.describe('How long they are remembered. Default: seven days.').optional(),
  maxAsking: count
    .describe(
      'Tasks that wait for an answer of their client; the oldest fails when there are more. Default: 1000.',
    )
    .optional(),
  answerSeconds: seconds.describe('How long they wait for it. Default: seven days.').optional(),
  logBytes: bytes.describe('Bytes of a task’s log that are kept. Default: 131072.').optional(),
});

/** The queue of an Agent, and what of it appears as Tasks. */
export const agentTasksSchema = z.strictObject({
  track: z
    .enum(['Never', 'Always'])
    .describe(
      'Always: a task that a client of the agent began (MCP, or a tool with `async`) also appears as a Task, with its arguments and its result.',
    )
    .default('Never'),
  maxTracked: z
    .int()
    .min(1)
    .max(10_000)
    .describe(
      'Such Tasks that exist at once. For one more the oldest that has ended goes; while none has, it waits to appear.',
    )
    .default(100),
  ttlSecondsAfterFinished: seconds.describe('Such a Task is deleted this long after its end.').default(3600),
  limits: limitsSchema.describe('What the queue holds at most, in each instance.').optional(),
});
