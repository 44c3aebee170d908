import { type Command, InvalidArgumentError } from 'commander';
import type { KubeObject, Resource } from '#api/meta.ts';
import type { Client } from '#kube/client.ts';
import { apiVersionOf } from '#kube/resource-path.ts';
import type { Cli } from '../context.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import { findKind, nameOfObject } from '../kinds.ts';
import { readManifests } from '../manifests.ts';
import {
  formatObjectData,
  type OutputFormat,
  outputFormats,
  outputHelp,
  parseOutputFormat,
} from '../output.ts';
import { withSession } from '../session.ts';
import type { GlobalOptions } from '../target.ts';

interface DeleteCommandOptions extends GlobalOptions {
  readonly output: string;
  readonly filename?: readonly string[];
  readonly wait: boolean;
  /** Seconds. */
  readonly timeout: number;
}

interface Target {
  readonly resource: Resource;
  /** Undefined: the one that is meant. */
  readonly namespace: string | undefined;
  readonly name: string;
}

const examples = `
An agent's workspace stays unless its spec says storage.retain: false: on a laptop its folder, on a cluster its volume.
Only storage.size gives it a volume; without one the workspace ends with the pod. On a cluster there is a volume
only where the spec has storage.size; without it the workspace ends with the agent's pods.

Examples:
  ploinky delete agent hello
  ploinky delete -f examples/hello.yaml`;

export function addDelete(program: Command, cli: Cli): void {
  program
    .command('delete [kind] [names...]')
    .description('delete objects; an agent’s sandbox or pods end with it')
    .option('-f, --filename <path...>', 'what these files and folders name')
    .option('--no-wait', 'do not wait until they are gone')
    .option('--timeout <seconds>', 'how long to wait', parseSeconds, 60)
    .option('-o, --output <format>', outputHelp, 'table')
    .addHelpText('after', examples)
    .action(async (kind: string | undefined, names: string[], _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<DeleteCommandOptions>();
      const format = parseOutputFormat(options.output, outputFormats);
      const found = await findTargets(cli, kind, names, options);
      await withSession(cli, options, async ({ client, namespace }) => {
        const targets = found.map((target) => ({ ...target, namespace: target.namespace ?? namespace }));
        const deleted = [];
        for (const target of targets) deleted.push(await deleteOne(cli, client, target, format));
        if (format === 'json' || format === 'yaml') {
          cli.terminal.print(formatObjectData(deleted, { format, single: true }));
        }
        if (options.wait) for (const target of targets) await waitUntilGone(cli, client, target, options);
      });
    });
}

async function findTargets(
  cli: Cli,
  kind: string | undefined,
  names: readonly string[],
  { filename = [] }: DeleteCommandOptions,
): Promise<Target[]> {
  if (filename.length > 0) {
    const found = await Promise.all(filename.map((path) => readManifests(path, () => cli.readStdin())));
    return found.flat().map(({ resource, object: { metadata } }) => {
      return { resource, namespace: metadata.namespace, name: metadata.name };
    });
  }
  if (kind === undefined || names.length === 0) {
    throw new CliError(exitCodes.usage, 'name a kind and at least one object, or a file with -f');
  }
  const resource = findKind(kind);
  return names.map((name) => ({ resource, namespace: undefined, name }));
}

/** Returns what is deleted as far as it is known without a right to read it. */
async function deleteOne(
  cli: Cli,
  client: Client,
  { resource, namespace = '', name }: Target,
  format: OutputFormat,
): Promise<KubeObject> {
  await client.delete(resource, { namespace, name }, { propagation: 'Background' });
  const full = nameOfObject(resource, name);
  if (format === 'name') cli.terminal.print(full);
  if (format === 'table' || format === 'wide') cli.terminal.print(`${full} deleted`);
  const metadata = resource.namespaced ? { name, namespace } : { name };
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata };
}

async function waitUntilGone(
  cli: Cli,
  client: Client,
  { resource, namespace = '', name }: Target,
  { timeout }: DeleteCommandOptions,
): Promise<void> {
  const deadline = cli.clock.monotonic() + timeout * 1000;
  while ((await client.find(resource, { namespace, name })) !== undefined) {
    if (cli.clock.monotonic() >= deadline) {
      throw new CliError(
        exitCodes.timedOut,
        `${nameOfObject(resource, name)} is not gone after ${timeout} s`,
      );
    }
    await cli.clock.sleep(100, cli.interrupted);
  }
}

function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (Number.isFinite(seconds) && seconds > 0) return seconds;
  throw new InvalidArgumentError('It must be a number of seconds above 0.');
}
