import { createHash, randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import type { ApiKey } from '#api/people.ts';
import type { Cli } from '../context.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import { formatData, outputFormats, outputHelp, parseOutputFormat } from '../output.ts';
import { type BookOptions, changeBook, findBook, readBook, requireUsed } from '../people/book.ts';
import { addKey, removeKey } from '../people/changes.ts';
import { bookOptions, sameUsers } from '../people/options.ts';
import { formatKeys } from '../people/show.ts';
import { withSession } from '../session.ts';

const help = `
A key lets a script or an MCP client in, as one user and with at most that user's roles. It is shown once; only its
SHA-256 is kept. Sent as \`Authorization: Bearer plk_…\`.

Examples:
  ploinky key create ci --user ana --agent reports --expires 90d
  ploinky key create reader --user ana --route team --role viewer --scope docs:read -o json
  ploinky key list --agent reports
  ploinky key revoke ci --agent reports`;

interface CreateOptions extends BookOptions {
  readonly user: string;
  readonly expires?: string;
  readonly role?: readonly string[];
  readonly scope?: readonly string[];
  readonly output: string;
}

export function addKeys(program: Command, cli: Cli): void {
  const key = program.command('key').description('API keys for scripts').addHelpText('after', help);
  bookOptions(key.command('create <name>'))
    .description('make a key and show it, once')
    .requiredOption('-u, --user <username>', 'whom it stands for')
    .option('--expires <time>', 'days or hours from now, 90d or 12h, or a date; default: never')
    .option('--role <roles...>', 'of the user’s roles these alone')
    .option('--scope <scopes...>', 'limit it to these scopes')
    .option('-o, --output <format>', outputHelp, 'table')
    .action((name: string, _: unknown, command: Command) => create(cli, name, command.optsWithGlobals()));
  bookOptions(key.command('list').alias('ls'))
    .description('show the keys, not their secrets')
    .option('-o, --output <format>', outputHelp, 'table')
    .action((_: unknown, command: Command) => list(cli, command.optsWithGlobals()));
  bookOptions(key.command('revoke <key>'))
    .description('end a key at once; by its id, or by its name where no other has that')
    .action((asked: string, _: unknown, command: Command) => revoke(cli, asked, command.optsWithGlobals()));
}

async function create(cli: Cli, name: string, options: CreateOptions): Promise<void> {
  const format = parseOutputFormat(options.output, outputFormats);
  const expires = options.expires === undefined ? undefined : expiryOf(options.expires, cli.clock.now());
  const id = newId();
  const secret = randomBytes(32);
  const key: Omit<ApiKey, 'user'> = {
    ...{ id, name, hash: createHash('sha256').update(secret).digest('hex') },
    ...(options.role && { roles: options.role }),
    ...(options.scope && { scopes: options.scope }),
    created: new Date(cli.clock.now()).toISOString(),
    ...(expires !== undefined && { expires }),
  };
  await withSession(cli, options, async ({ client, namespace }) => {
    const book = await findBook(client, namespace, options);
    requireUsed(book);
    await changeBook(client, book, (people) => addKey(people, options.user, key, sameUsers(options)));
  });
  const text = `plk_${id}_${secret.toString('base64url')}`;
  const { hash: _, ...shown } = key;
  const data = formatData({ ...shown, user: options.user, key: text }, format);
  cli.terminal.print(data ?? text);
  if (data === undefined) cli.terminal.note(`Keep it: it is not shown again. Its id is ${id}.`);
}

async function list(cli: Cli, options: BookOptions & { readonly output: string }): Promise<void> {
  const format = parseOutputFormat(options.output, outputFormats);
  await withSession(cli, options, async ({ client, namespace }) => {
    const people = await readBook(client, await findBook(client, namespace, options));
    cli.terminal.print(formatKeys(people, format, cli.clock.now()));
  });
}

async function revoke(cli: Cli, asked: string, options: BookOptions): Promise<void> {
  await withSession(cli, options, async ({ client, namespace }) => {
    const book = await findBook(client, namespace, options);
    await changeBook(client, book, (people) => removeKey(people, asked, sameUsers(options)));
    cli.terminal.print(`key ${asked} revoked`);
  });
}

/** Letters and digits: it stands between underlines. */
function newId(): string {
  return randomBytes(16).toString('base64url').replace(/[-_]/g, '').slice(0, 10);
}

const units: Readonly<Record<string, number>> = { h: 3_600_000, d: 86_400_000 };

function expiryOf(text: string, now: number): string {
  const [, count, unit = ''] = /^(\d{1,5})([hd])$/.exec(text) ?? [];
  const at = count === undefined ? Date.parse(text) : now + Number(count) * (units[unit] ?? 0);
  if (Number.isNaN(at) || at <= now)
    throw new CliError(
      exitCodes.usage,
      `--expires ${text} is no time to come`,
      'Give 90d, 12h or a date: 2027-01-31.',
    );
  return new Date(at).toISOString();
}
