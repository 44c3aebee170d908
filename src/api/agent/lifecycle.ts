import { z } from 'zod';
import { commandLine, seconds } from '../schema/fields.ts';
import { notYet } from '../schema/rules.ts';

const hostHooksSchema = z.strictObject({
  preinstall: commandLine.describe('Before anything is installed.').optional(),
  afterCreation: commandLine.describe('After the workload was made and before it is ready.').optional(),
  postinstall: commandLine.describe('After postinstall ran inside.').optional(),
});

/** Commands around the start of an agent. */
export const lifecycleSchema = z.strictObject({
  preinstall: notYet(commandLine).describe('Runs before install, in the same sandbox.').optional(),
  install: commandLine
    .describe(
      'Fetches what the agent needs, in a sandbox of its own whose egress is network.installEgress; working folder /deps. What it leaves there is read-only for the agent (node_modules and bin are found). Program and arguments, no shell.',
    )
    .optional(),
  postinstall: notYet(commandLine)
    .describe('Runs once inside the agent after install, before it is ready.')
    .optional(),
  installTimeoutSeconds: seconds.min(1).max(86_400).describe('Limit of the install step.').default(600),
  hostHooks: notYet(hostHooksSchema)
    .describe(
      'Commands that run on the host, outside of any sandbox. For manifests that need them; never on a cluster.',
    )
    .optional(),
});
