import { z } from 'zod';
import { capabilities, timeZone } from '../agent/governance.ts';
import { dnsLabel } from '../meta.ts';
import {
  agentName,
  freeObject,
  listMap,
  listOf,
  longText,
  objectName,
  seconds,
  setOf,
  shortText,
  text,
  tokens,
} from '../schema/fields.ts';
import { atLeastOne, atMostOne, exactlyOne, notYet, type Rule, withRules } from '../schema/rules.ts';

const agentRef = z.strictObject({ name: agentName.describe('Name of an Agent in the same namespace.') });
const taskRef = z.strictObject({ name: objectName.describe('Name of a Task in the same namespace.') });

const backoffSchema = z.strictObject({
  initialSeconds: seconds.describe('Pause before the second attempt.').default(1),
  factor: z.number().min(1).max(10).describe('How it grows.').default(2),
  maxSeconds: seconds.describe('Its upper bound.').default(300),
});

const retrySchema = z.strictObject({
  limit: z.int().min(0).max(100).describe('Attempts after the first.').default(0),
  backoff: backoffSchema.describe('Pauses between attempts.').prefault({}),
  // Not `on`: the YAML that kubectl reads takes that word for true.
  when: setOf(z.enum(['Failed', 'TimedOut', 'Interrupted']), 3)
    .describe('Ends that are tried again.')
    .default(['Interrupted']),
});

const sessionSchema = withRules(
  z.strictObject({
    prompt: z.string().min(1).max(65_536).describe('What the session is told.'),
    new: z
      .strictObject({ type: text(63).describe('Preset. Default: that of the Agent.').optional() })
      .describe('In a session of its own.')
      .optional(),
    resume: text(253).describe('In the session of this id.').optional(),
  }),
  [exactlyOne(['new', 'resume'])],
);

const approvalSchema = z.strictObject({
  required: z.boolean().describe('Whether a person must consent first.').default(true),
  operation: shortText.describe('What is asked for.').optional(),
  reasoning: longText.describe('Why.').optional(),
});

const scheduleSchema = z.strictObject({
  cron: text(255)
    .regex(
      /^(@(hourly|daily|midnight|weekly|monthly|yearly|annually)|\S+( +\S+){4})$/,
      'must have five fields: minute hour day month weekday',
    )
    .describe(
      'When, as five fields: minute hour day month weekday; or @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually.',
    ),
  timeZone: timeZone.describe('Where the clock is read.').default('UTC'),
  concurrencyPolicy: z
    .enum(['Allow', 'Forbid', 'Replace'])
    .describe(
      'What happens while an earlier one has not ended. Allow: another one beside it. Forbid: it waits for the end of that, for startingDeadlineSeconds, then it is skipped. Replace: that one is deleted.',
    )
    .default('Forbid'),
  startingDeadlineSeconds: seconds
    .describe(
      'One that is later than this is skipped. Of several that were missed only the last one is made.',
    )
    .default(300),
  successfulHistoryLimit: z.int().min(0).max(1000).describe('Successful Tasks that are kept.').default(3),
  failedHistoryLimit: z.int().min(0).max(1000).describe('Failed Tasks that are kept.').default(3),
});

const inputNeedsTool: Rule<{ tool?: string | undefined; input?: unknown }> = {
  rule: '!has(self.input) || has(self.tool)',
  message: 'input belongs to tool; give tool or remove input',
  at: '.input',
  holds: (task) => task.input === undefined || task.tool !== undefined,
};

const executionSchema = z.strictObject({
  id: text(64)
    .regex(/^[0-9a-f]{16}$/, 'must be 16 hex digits')
    .describe('By which the agent’s queue knows it.'),
});

const executionIsThere: Rule<{
  execution?: unknown;
  agentRef?: unknown;
  tool?: unknown;
  schedule?: unknown;
}> = {
  rule: '!has(self.execution) || (has(self.agentRef) && has(self.tool) && !has(self.schedule))',
  message: 'execution needs agentRef and tool, and takes no schedule',
  at: '.execution',
  holds: ({ execution, agentRef, tool, schedule }) =>
    execution === undefined || (agentRef !== undefined && tool !== undefined && schedule === undefined),
};

/** One durable execution. */
export const taskSpecSchema = withRules(
  z.strictObject({
    agentRef: agentRef.describe('The Agent that does it.').optional(),
    role: dnsLabel.describe('Any Agent of this role.').optional(),
    requiredCapabilities: capabilities.min(1).describe('Any Agent that has all of these.').optional(),
    title: shortText.describe('Name for people.').optional(),
    description: longText.describe('What is to be done, for whoever takes it.').optional(),
    tool: text(255).describe('Tool to call.').optional(),
    input: freeObject(256, 262_144).describe('Arguments of the tool, at most 256 KiB.').optional(),
    session: notYet(sessionSchema).describe('Prompt for a session, instead of a tool.').optional(),
    priority: z.enum(['low', 'medium', 'high', 'critical']).describe('Which goes first.').default('medium'),
    timeoutSeconds: seconds.min(1).describe('Limit of one attempt. Default: that of the tool.').optional(),
    retry: retrySchema.describe('What happens when it does not succeed.').prefault({}),
    approval: notYet(approvalSchema).describe('Consent that it needs.').optional(),
    estimatedTokens: notYet(tokens).describe('Tokens that it is expected to use.').optional(),
    parentRef: notYet(taskRef).describe('Task that it is a part of.').optional(),
    dependsOn: listMap(taskRef, 'name', 64)
      .describe('Tasks that must succeed first. When one of them ends otherwise, this one has failed.')
      .optional(),
    schedule: scheduleSchema
      .describe(
        'Makes a Task of its own at each of these times, named `<name>-<minutes since 1970>`, with everything else of this spec; the Task with the schedule itself runs nothing. Its name has at most 52 characters.',
      )
      .optional(),
    suspend: z
      .boolean()
      .describe(
        'Starts nothing new. A Task that is made suspended may be changed until it is not suspended any more.',
      )
      .default(false),
    isolation: z
      .enum(['Shared', 'Pod'])
      .describe(
        'Shared: in the running agent. Pod: in a fresh pod or sandbox with the agent’s spec and a workspace of its own, which ends with the attempt.',
      )
      .default('Shared'),
    context: notYet(freeObject(64, 65_536)).describe('Facts for whoever takes it.').optional(),
    plugins: notYet(listOf(text(63), 32))
      .describe('Tagged plugins that are active for it.')
      .optional(),
    execution: executionSchema
      .describe(
        'Made by the controller for `spec.tasks.track` of an Agent: this Task stands for a task that a client of the agent began. Nothing is executed for it; to delete it cancels that one.',
      )
      .optional(),
    ttlSecondsAfterFinished: seconds.describe('Deleted this long after it ended. Default: kept.').optional(),
  }),
  [
    exactlyOneTarget(),
    atMostOne(['tool', 'session']),
    atLeastOne(['tool', 'session', 'title']),
    inputNeedsTool,
    executionIsThere,
  ],
);

/** A target is an Agent, or a role and capabilities that narrow each other. */
function exactlyOneTarget(): Rule<{
  agentRef?: unknown;
  role?: string | undefined;
  requiredCapabilities?: string[] | undefined;
}> {
  return {
    rule: 'has(self.agentRef) != (has(self.role) || has(self.requiredCapabilities))',
    message: 'either agentRef or at least one of role and requiredCapabilities must be given',
    holds: (task) =>
      (task.agentRef !== undefined) !== (task.role !== undefined || task.requiredCapabilities !== undefined),
  };
}
