import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import type { Agent } from '#api/agent.ts';
import { agentResource } from '#api/resources.ts';
import { isReservedName, isSecretName, storeAlias, storeValue } from '#api/secrets.ts';
import { formatAge } from '../age.ts';
import type { Cli } from '../context.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import { formatData, outputFormats, outputHelp, parseOutputFormat } from '../output.ts';
import { readHidden } from '../read-hidden.ts';
import { type KeptSecrets, secretHome, whoUses, withHome } from '../secrets/home.ts';
import { readOrAnew } from '../secrets/read-or-anew.ts';
import { listSecrets, usersOf } from '../secrets/usage.ts';
import { formatTable } from '../table.ts';
import { type GlobalOptions, requireWorkspace } from '../target.ts';

const help = `
An Agent reads a secret by its name: env: [{name: TOKEN, valueFrom: {alias: OPENAI_API_KEY}}]. A name is looked up in
the Secret ploinky-secrets of the namespace, then, in a workspace, in .ploinky/.secrets (encrypted), the environment of
\`ploinky up\` and the nearest .env. In a workspace these commands write .ploinky/.secrets, on a cluster the Secret.
A value is asked for at the terminal or read from standard input; it is in no command line and never shown.

Examples:
  ploinky secret set OPENAI_API_KEY
  ploinky secret set OPENAI_API_KEY < key.txt
  ploinky secret set TEAM_KEY --alias OPENAI_API_KEY
  ploinky secret import .env --dry-run
  ploinky secret list --context prod -n team`;

export function addSecret(program: Command, cli: Cli): void {
  const secret = program
    .command('secret')
    .description('what agents are given and nobody may see')
    .addHelpText('after', help);
  addSet(secret.command('set <name> [refused...]'), cli);
  addList(secret.command('list').alias('ls'), cli);
  secret
    .command('rm <names...>')
    .alias('remove')
    .description('take secrets away; agents that run keep what they have')
    .action((names: string[], _: unknown, command: Command) => remove(cli, names, command.optsWithGlobals()));
  secret
    .command('import <file>')
    .description('take the variables of a .env file; NAME=$OTHER becomes an alias')
    .option('--dry-run', 'only say what would change')
    .option('--overwrite', 'also change secrets that have another value')
    .action((file: string, _: unknown, command: Command) => importFile(cli, file, command.optsWithGlobals()));
  secret
    .command('rekey')
    .description('encrypt the workspace’s secrets with another master key')
    .action((_: unknown, command: Command) => rekey(cli, command.optsWithGlobals()));
}

export function addSet(command: Command, cli: Cli): void {
  command
    .description('keep a secret; its value comes from the terminal or standard input')
    .option('--alias <other>', 'let the name stand for another one instead')
    .action((name: string, refused: string[], _: unknown, self: Command) =>
      set(cli, name, refused, self.optsWithGlobals()),
    );
}

export function addList(command: Command, cli: Cli): void {
  command
    .description('show the names, where each comes from and which agents use it; never a value')
    .option('-o, --output <format>', outputHelp, 'table')
    .action((_: unknown, self: Command) => list(cli, self.optsWithGlobals()));
}

async function set(
  cli: Cli,
  name: string,
  refused: readonly string[],
  options: GlobalOptions & { readonly alias?: string },
): Promise<void> {
  const [word = ''] = name.split(/[=:]/);
  // Not with what was typed: it is on the screen and in the shell's history as it is.
  if (refused.length > 0 || word !== name) {
    throw new CliError(
      exitCodes.usage,
      'a value on the command line is seen by everybody who may list processes, and kept in the shell’s history',
      `It was not taken, and is better changed now. Type it when asked: ploinky secret set ${word}, or give it as standard input.`,
    );
  }
  requireName(name);
  if (options.alias !== undefined) requireName(options.alias);
  const text =
    options.alias === undefined
      ? storeValue(await readHidden(cli, `value of ${name}`))
      : storeAlias(options.alias);
  await withHome(cli, options, async (home) => {
    await home.change((kept) => withText(kept, { [name]: text }, cli.clock.now()));
    cli.terminal.print(`secret ${name} set in ${home.place}`);
  });
  await noteUsers(cli, [name], options);
}

function requireName(name: string): void {
  if (isSecretName(name) && !isReservedName(name)) return;
  throw new CliError(
    exitCodes.usage,
    isReservedName(name) ? `${name} is the workspace’s own` : `"${name}" is no name of a secret`,
    isReservedName(name)
      ? 'Set it in the environment of `ploinky up`, or in .env.'
      : 'Use letters, digits and "_"; it may not begin with a digit.',
  );
}

function withText(kept: KeptSecrets, texts: Readonly<Record<string, string>>, now: number): KeptSecrets {
  const at = new Date(now).toISOString();
  const changed = Object.fromEntries(Object.keys(texts).map((name) => [name, at]));
  return { secrets: { ...kept.secrets, ...texts }, changed: { ...kept.changed, ...changed } };
}

/** Agents that run with another value are started again: nobody should wonder why. */
async function noteUsers(cli: Cli, names: readonly string[], options: GlobalOptions): Promise<void> {
  const lines = await linesOf(cli, options).catch(() => undefined);
  const users = new Set(lines?.filter(({ name }) => names.includes(name)).flatMap(({ usedBy }) => usedBy));
  if (users.size > 0)
    cli.terminal.note(`Used by: ${[...users].join(', ')}; they start again when the value is another.`);
}

async function linesOf(cli: Cli, options: GlobalOptions) {
  return withHome(cli, options, async (home) => {
    const kept = { place: home.place, ...(await home.read()) };
    return whoUses(cli, options, async (session) => {
      if (session === undefined) return listSecrets([kept], []);
      const { client, namespace } = session;
      const { items } = await client.list<Agent>(agentResource, { namespace });
      const inApi = secretHome(client, namespace);
      const places =
        inApi.place === kept.place ? [kept] : [{ place: inApi.place, ...(await inApi.read()) }, kept];
      return listSecrets(places, items);
    });
  });
}

async function list(cli: Cli, options: GlobalOptions & { readonly output: string }): Promise<void> {
  const format = parseOutputFormat(options.output, outputFormats);
  const lines = await linesOf(cli, options);
  const data = formatData(lines, format);
  if (data !== undefined) return cli.terminal.print(data);
  if (format === 'name') return cli.terminal.print(lines.map(({ name }) => name).join('\n'));
  if (lines.length === 0) return cli.terminal.note('No secrets found.');
  const now = cli.clock.now();
  const rows = lines.map(({ name, source, aliasOf, usedBy, changed }) => [
    name,
    source,
    aliasOf ?? '',
    usedBy.join(', '),
    changed === undefined ? '' : `${formatAge(changed, now)} ago`,
  ]);
  cli.terminal.print(formatTable(['NAME', 'SOURCE', 'ALIAS OF', 'USED BY', 'CHANGED'], rows));
}

async function remove(cli: Cli, names: readonly string[], options: GlobalOptions): Promise<void> {
  await withHome(cli, options, async (home) => {
    const kept = await home.read();
    const missing = names.filter((name) => !Object.hasOwn(kept.secrets, name));
    if (missing.length > 0)
      throw new CliError(exitCodes.notFound, `${home.place} has no secret ${missing.join(', ')}`);
    const without = (map: Readonly<Record<string, string>>) =>
      Object.fromEntries(Object.entries(map).filter(([name]) => !names.includes(name)));
    const users = await whoUses(cli, options, async (session) => {
      if (session === undefined) return [];
      const { items } = await session.client.list<Agent>(agentResource, { namespace: session.namespace });
      const found = usersOf([{ place: home.place, ...kept }], items);
      return [...new Set(names.flatMap((name) => found.get(name) ?? []))];
    });
    await home.change((now) => ({ secrets: without(now.secrets), changed: without(now.changed) }));
    for (const name of names) cli.terminal.print(`secret ${name} removed from ${home.place}`);
    if (users.length > 0)
      cli.terminal.note(`Used by: ${users.join(', ')}; they run on and cannot start again without it.`);
  });
}

interface ImportOptions extends GlobalOptions {
  readonly dryRun?: true;
  readonly overwrite?: true;
}

async function importFile(cli: Cli, file: string, options: ImportOptions): Promise<void> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new CliError(exitCodes.notFound, `${file} cannot be read`, String(error));
  });
  const { secrets, wrong } = cli.parseEnvFile(text);
  const refused = [...wrong, ...Object.keys(secrets).filter(isReservedName)];
  const texts = Object.fromEntries(Object.entries(secrets).filter(([name]) => !isReservedName(name)));
  await withHome(cli, options, async (home) => {
    const { kept, anew } = await readOrAnew(home, { file, text, refused });
    let plan = planImport(kept, texts, options);
    const say = (word: string, names: readonly string[]) => {
      for (const name of names) cli.terminal.print(`${name} ${word}`);
    };
    if (options.dryRun !== true && (plan.taken.length > 0 || anew !== undefined)) {
      const edit = (now: KeptSecrets) => {
        // Others may have set some since.
        plan = planImport(now, texts, options);
        const chosen = Object.fromEntries(plan.taken.map((name) => [name, texts[name] ?? '']));
        return withText(now, chosen, cli.clock.now());
      };
      await home.change(edit, { anew });
    }
    const { added, changed, stays, taken } = plan;
    const would = options.dryRun ? 'would be ' : '';
    say(`${would}added`, added);
    say(`${would}changed`, changed);
    say('has another value and stays; --overwrite changes it', stays);
    say('is no name of a secret and is left out', refused);
    cli.terminal.note(
      `${taken.length} of ${Object.keys(secrets).length + wrong.length} ${options.dryRun ? 'would be taken' : 'taken'} into ${home.place}.`,
    );
  });
}

/** Pure. What an import does to what is kept, by name. */
function planImport(
  { secrets }: KeptSecrets,
  texts: Readonly<Record<string, string>>,
  { overwrite }: ImportOptions,
) {
  const isNew = (name: string) => !Object.hasOwn(secrets, name);
  const names = Object.keys(texts);
  const added = names.filter(isNew);
  const others = names.filter((name) => !isNew(name) && secrets[name] !== texts[name]);
  const [changed, stays]: [string[], string[]] = overwrite ? [others, []] : [[], others];
  return { added, changed, stays, taken: [...added, ...changed] };
}

async function rekey(cli: Cli, options: GlobalOptions): Promise<void> {
  const remedy = 'A cluster encrypts its Secrets itself: see its EncryptionConfiguration.';
  const folder = requireWorkspace('secret rekey', options, remedy);
  const store = await (await cli.openWorkspace(folder)).openSecrets();
  await store.rekey();
  cli.terminal.print('.ploinky/.secrets is encrypted with another key; the one before opens it no more');
}
