import { z } from 'zod';
import {
  commandLine,
  envName,
  freeObject,
  listMap,
  listOf,
  relativePath,
  seconds,
  setOf,
  shortText,
  text,
} from '../schema/fields.ts';
import { envVarSchema } from './env.ts';

const statusSource = z.enum(['Event', 'Prompt', 'Idle']);

const resumeSchema = z.strictObject({
  args: listOf(z.string().max(4096), 64)
    .describe('Arguments that resume a session; `{session}` is its id.')
    .optional(),
  needsSessionId: z.boolean().describe('Whether resuming needs the vendor’s session id.').default(false),
});

const promptDeliverySchema = z.strictObject({
  method: z
    .enum(['Typed', 'Argument', 'Flag', 'Stdin', 'File'])
    .describe('How the first prompt reaches the program.'),
  quietMilliseconds: z
    .int()
    .min(0)
    .max(60_000)
    .describe('Silence that counts as ready, for Typed.')
    .default(450),
  fallbackMilliseconds: z.int().min(0).max(600_000).describe('Typed anyway after this long.').default(1800),
  readyPattern: shortText.describe('Regular expression of the output that says "ready".').optional(),
});

/** Interactive programs with a terminal of their own. */
export const sessionsSchema = z.strictObject({
  enabled: z.boolean().describe('Whether sessions can be started.').default(true),
  max: z.int().min(1).max(1000).describe('How many live at once.').default(4),
  type: text(63)
    .describe(
      'Preset: claude, codex, opencode, pi, aider, terminal, generic. Every field below overrides it.',
    )
    .default('generic'),
  command: commandLine.describe('Program and arguments. Default: that of the preset.').optional(),
  shell: z.boolean().describe('Whether command is one shell line.').default(false),
  promptFlag: text(255)
    .describe('Flag before the prompt. Default: that of the preset, else positional.')
    .optional(),
  interactive: z.boolean().describe('Whether the program goes on after the first prompt.').default(true),
  promptDelivery: promptDeliverySchema
    .describe('How the first prompt is delivered. Default: that of the preset.')
    .optional(),
  resume: resumeSchema.describe('How a suspended session goes on. Default: that of the preset.').optional(),
  cols: z.int().min(1).max(1000).describe('Columns of the terminal.').default(120),
  rows: z.int().min(1).max(1000).describe('Rows of the terminal.').default(40),
  bufferBytes: z
    .int()
    .min(4096)
    .max(67_108_864)
    .describe('Output kept in memory for a viewer that comes later.')
    .default(1_048_576),
  promptWindowBytes: z
    .int()
    .min(16)
    .max(65_536)
    .describe('End of the output in which a prompt is looked for.')
    .default(256),
  idleSeconds: seconds.describe('Silence longer than this counts as waiting.').default(30),
  promptPatterns: listOf(text(255), 32)
    .describe('Ends of output that count as a prompt.')
    .default(['$ ', '% ', '# ', '> ']),
  statusSources: setOf(statusSource, 3)
    .describe('What tells the status, most trusted first.')
    .default(['Event', 'Prompt', 'Idle']),
  killGraceSeconds: seconds.describe('Time between SIGTERM and SIGKILL.').default(5),
  env: listMap(envVarSchema, 'name', 256)
    .describe('Variables of the session, over those of the agent.')
    .optional(),
  envRemove: setOf(envName, 64).describe('Variables that a session does not get.').default(['CLAUDECODE']),
  record: z.boolean().describe('Whether output is also recorded to a file.').default(false),
  retentionSeconds: seconds.describe('How long the output of an ended session can be read.').default(3600),
});

/** A git worktree for each task or session. */
export const worktreeSchema = z.strictObject({
  enabled: z.boolean().describe('Whether worktrees are made.').default(true),
  base: shortText
    .describe('Branch or commit to start from. Default: the branch that is checked out.')
    .optional(),
  branchPrefix: text(63).describe('Put before the branch name.').default('agents/'),
  envFiles: setOf(relativePath, 32)
    .describe('Files copied into a new worktree when they exist.')
    .default(['.env', '.env.local']),
  cleanup: z
    .enum(['Explicit', 'OnTaskDone', 'TTL'])
    .describe('When a worktree goes. Never with unmerged commits unless forced.')
    .default('Explicit'),
  ttlSeconds: seconds.describe('Age at which cleanup TTL removes it.').default(604_800),
});

const injectSchema = z.strictObject({
  method: z
    .enum(['File', 'PromptPrepend', 'SystemPromptFlag', 'Stdin', 'Env', 'McpResource'])
    .describe('How it is handed over.'),
  format: z.enum(['markdown', 'json', 'xml', 'claude']).describe('How it is written.').default('markdown'),
  flag: text(255).describe('Flag that takes it, for SystemPromptFlag.').optional(),
  path: relativePath.describe('File name, for File.').optional(),
  maxBytes: z.int().min(1).max(16_777_216).describe('Cut to this size, visibly.').optional(),
});

const contextSourceSchema = z.strictObject({
  type: z
    .enum(['Task', 'Role', 'Skills', 'Budget', 'Sessions', 'Spec', 'Blob', 'File', 'ConfigMap'])
    .describe('Kind of source.'),
  name: shortText.describe('Which one, where there are several.').optional(),
  path: relativePath.describe('File, for File and Spec.').optional(),
  last: z.int().min(1).max(1000).describe('How many entries, for Sessions.').optional(),
  priority: z.int().min(0).max(1000).describe('Higher ones are kept when the whole is cut.').default(0),
});

/** What a run is told about its task and its agent. Secrets are never in it. */
export const contextSchema = z.strictObject({
  sources: listOf(contextSourceSchema, 64).describe('What goes in, in this order.').default([]),
  inject: listOf(injectSchema, 8)
    .describe('How it is delivered. Default: one file.')
    .default([{ method: 'File', format: 'markdown' }]),
  maxBytes: z
    .int()
    .min(1)
    .max(16_777_216)
    .describe('Size of the whole; what is cut is named.')
    .default(65_536),
  formatter: z
    .enum(['claude', 'markdown', 'json', 'xml'])
    .describe('How the whole is written.')
    .default('markdown'),
  variables: freeObject(64, 65_536).describe('Values that templates can use.').optional(),
});
