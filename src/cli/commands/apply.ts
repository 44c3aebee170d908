import type { Command } from 'commander';
import { applyManifest } from '../apply.ts';
import type { Cli } from '../context.ts';
import { nameOfObject } from '../kinds.ts';
import { readManifests } from '../manifests.ts';
import { type ObjectOptions, withClient } from '../session.ts';

interface ApplyCommandOptions extends ObjectOptions {
  readonly filename: readonly string[];
  readonly force?: true;
  readonly dryRun?: true;
}

const examples = `
Examples:
  ploinky apply -f agent.yaml
  ploinky apply -f examples          every YAML file of a folder and the folders in it
  cat agent.yaml | ploinky apply -f -`;

export function addApply(program: Command, cli: Cli): void {
  program
    .command('apply')
    .description('make or change objects as files say (server-side apply)')
    .requiredOption('-f, --filename <path...>', 'files, folders, or - for standard input')
    .option('--force', 'take over fields that somebody else set')
    .option('--dry-run', 'let the API check everything and store nothing')
    .addHelpText('after', examples)
    .action(async (_options: unknown, command: Command) => {
      await apply(cli, command.optsWithGlobals<ApplyCommandOptions>());
    });
}

async function apply(cli: Cli, options: ApplyCommandOptions): Promise<void> {
  const files = options.filename.map((path) => readManifests(path, () => cli.readStdin()));
  const manifests = (await Promise.all(files)).flat();
  const how = {
    namespace: options.namespace,
    force: options.force === true,
    dryRun: options.dryRun === true,
  };
  await withClient(cli, options, async (client) => {
    for (const manifest of manifests) {
      const outcome = await applyManifest(client, manifest, how);
      const name = nameOfObject(manifest.resource, manifest.object.metadata.name);
      cli.terminal.print(`${name} ${outcome}${how.dryRun ? ' (dry run)' : ''}`);
    }
  });
}
