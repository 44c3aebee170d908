import { type Command, InvalidArgumentError } from 'commander';
import type { KubeObject } from '#api/meta.ts';
import { agentResource } from '#api/resources.ts';
import { fieldManager } from '../apply.ts';
import { printChanged } from '../changed.ts';
import type { Cli } from '../context.ts';
import { outputFormats, outputHelp, parseOutputFormat } from '../output.ts';
import { withSession } from '../session.ts';
import type { GlobalOptions } from '../target.ts';

interface ScaleOptions extends GlobalOptions {
  readonly replicas: number;
  readonly output: string;
}

export function addScale(program: Command, cli: Cli): void {
  program
    .command('scale <agents...>')
    .description('set how many replicas agents have; 0 stops them')
    .requiredOption('--replicas <number>', 'how many', parseReplicas)
    .option('-o, --output <format>', outputHelp, 'table')
    .addHelpText('after', '\nExample:\n  ploinky scale hello --replicas 3')
    .action(async (names: string[], _options: unknown, command: Command) => {
      await scale(cli, names, command.optsWithGlobals<ScaleOptions>());
    });
}

async function scale(cli: Cli, names: readonly string[], options: ScaleOptions): Promise<void> {
  const format = parseOutputFormat(options.output, outputFormats);
  await withSession(cli, options, async ({ client, namespace }) => {
    const changed: KubeObject[] = [];
    for (const name of names) {
      await client.scale(agentResource, { namespace, name }, options.replicas, { fieldManager });
      changed.push(await client.get(agentResource, { namespace, name }));
    }
    printChanged(cli, agentResource, changed, { format, word: `scaled to ${options.replicas}` });
  });
}

function parseReplicas(text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number, 0 or more.');
}
