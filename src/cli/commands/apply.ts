import type { Command } from 'commander';
import { type Applied, applyManifest } from '../apply.ts';
import type { Cli } from '../context.ts';
import { nameOfObject } from '../kinds.ts';
import { type Manifest, readManifests } from '../manifests.ts';
import {
  formatObjectData,
  type OutputFormat,
  outputFormats,
  outputHelp,
  parseOutputFormat,
} from '../output.ts';
import { withSession } from '../session.ts';
import type { GlobalOptions } from '../target.ts';

interface ApplyCommandOptions extends GlobalOptions {
  readonly output: string;
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
    .option('-o, --output <format>', outputHelp, 'table')
    .addHelpText('after', examples)
    .action(async (_options: unknown, command: Command) => {
      await apply(cli, command.optsWithGlobals<ApplyCommandOptions>());
    });
}

async function apply(cli: Cli, options: ApplyCommandOptions): Promise<void> {
  const format = parseOutputFormat(options.output, outputFormats);
  const files = options.filename.map((path) => readManifests(path, () => cli.readStdin()));
  const manifests = (await Promise.all(files)).flat();
  await withSession(cli, options, async ({ client, namespace }) => {
    const dryRun = options.dryRun === true;
    const how = { namespace, force: options.force === true, dryRun };
    const applied: Applied[] = [];
    for (const manifest of manifests) {
      const one = await applyManifest(client, manifest, how);
      applied.push(one);
      // Each at once: what was done before one is refused has been done.
      const line = describeApplied(manifest, one, { format, dryRun });
      if (line !== undefined) cli.terminal.print(line);
    }
    if (format !== 'json' && format !== 'yaml') return;
    const objects = applied.map(({ object }) => object);
    cli.terminal.print(formatObjectData(objects, { format, single: true }));
  });
}

function describeApplied(
  { resource }: Manifest,
  { outcome, object }: Applied,
  { format, dryRun }: { format: OutputFormat; dryRun: boolean },
): string | undefined {
  const name = nameOfObject(resource, object.metadata.name);
  if (format === 'json' || format === 'yaml') return undefined;
  return format === 'name' ? name : `${name} ${outcome}${dryRun ? ' (dry run)' : ''}`;
}
