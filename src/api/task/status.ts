import { z } from 'zod';
import { conditionsSchema } from '../meta.ts';

export const taskPhases = [
  'Pending',
  'Scheduled',
  'AwaitingApproval',
  'Held',
  'Queued',
  'Running',
  'Succeeded',
  'Failed',
  'Cancelled',
  'TimedOut',
  'Rejected',
  'Expired',
] as const;

const time = z.string().max(40).meta({ format: 'date-time' });

const resultSchema = z.strictObject({
  content: z.string().max(65_536).describe('JSON text of the tool’s result, at most 64 KiB.').optional(),
  blob: z.string().max(1024).describe('Where a larger result is.').optional(),
  bytes: z.int().min(0).max(1_099_511_627_776).describe('Size of the result.').optional(),
  isError: z.boolean().describe('Whether the tool said that it failed.').optional(),
  message: z.string().max(4096).describe('The end in one line.').optional(),
});

const approvalSchema = z.strictObject({
  state: z.enum(['Pending', 'Approved', 'Rejected', 'Expired']).describe('What was decided.'),
  by: z.string().max(255).describe('Who decided.').optional(),
  at: time.describe('When.').optional(),
  note: z.string().max(4096).describe('Why.').optional(),
  digest: z.string().max(128).describe('What exactly was consented to.').optional(),
});

export const taskStatusSchema = z.strictObject({
  observedGeneration: z
    .int()
    .min(0)
    .max(9_007_199_254_740_991)
    .describe('Generation of the spec that this status speaks of.')
    .optional(),
  phase: z.enum(taskPhases).describe('Where it is.').optional(),
  attempts: z.int().min(0).max(1000).describe('How often it was given to an agent.').optional(),
  agent: z.string().max(253).describe('Agent that it was given to.').optional(),
  instance: z
    .string()
    .max(128)
    .describe('Workload of that agent (uid of an endpoint) that has the present attempt.')
    .optional(),
  taskId: z
    .string()
    .max(512)
    .describe('By which that workload knows the attempt, once it has taken it.')
    .optional(),
  claimedBy: z.string().max(512).describe('Controller that gave it to the agent.').optional(),
  nextAttemptTime: time.describe('When it is tried again.').optional(),
  createdAt: time.describe('When it was accepted.').optional(),
  startedAt: time.describe('When the first attempt started.').optional(),
  completedAt: time.describe('When it ended.').optional(),
  exitCode: z.int().min(-1).max(255).describe('Exit code of the command.').optional(),
  result: resultSchema.describe('What came out.').optional(),
  usage: z
    .strictObject({
      tokens: z.int().min(0).max(1_000_000_000_000).describe('Tokens used.').optional(),
      source: z.enum(['reported', 'measured']).describe('Who says so.').optional(),
    })
    .describe('What it used.')
    .optional(),
  context: z
    .strictObject({
      digest: z.string().max(128).describe('SHA-256 of the context.').optional(),
      bytes: z.int().min(0).max(1_099_511_627_776).describe('Its size.').optional(),
    })
    .describe('What it was told.')
    .optional(),
  approval: approvalSchema.describe('Consent.').optional(),
  lastScheduleTime: time.describe('Last time of its schedule.').optional(),
  nextScheduleTime: time.describe('Next time of its schedule.').optional(),
  conditions: conditionsSchema.describe('Accepted, Stalled, Complete.').optional(),
});
