import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import type { People } from '#api/people.ts';
import { hashPassword } from '#kit/password.ts';
import type { Cli } from '../context.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import { outputFormats, outputHelp, parseOutputFormat } from '../output.ts';
import { type BookOptions, changeBook, findBook, readBook, requireUsed } from '../people/book.ts';
import { addPerson, changePerson, personNamed, removePerson } from '../people/changes.ts';
import { bookOptions, sameUsers } from '../people/options.ts';
import { formatUsers } from '../people/show.ts';
import { readNewHidden } from '../read-hidden.ts';
import { withSession } from '../session.ts';

const help = `
Users of mode pwd are in a Secret that Agents and Routes name (spec.auth.usersSecretRef; by default NAME-users). Those
that name the same Secret have the same users. A password is asked for at the terminal, or read from standard input;
it is in no command line.

Examples:
  ploinky user add ana --agent reports --role editor
  ploinky user passwd ana --agent reports < password.txt
  ploinky user disable ana --route team --context prod
  ploinky user list --secret staff -o wide`;

interface AddOptions extends BookOptions {
  readonly name?: string;
  readonly email?: string;
  readonly role?: readonly string[];
}

const shortest = 8;

export function addUser(program: Command, cli: Cli): void {
  const user = program
    .command('user')
    .description('who may log in with a password')
    .addHelpText('after', help);
  bookOptions(user.command('add <username>'))
    .description('add a user')
    .option('--name <name>', 'full name')
    .option('--email <address>', 'e-mail address')
    .option('--role <roles...>', 'roles')
    .action((username: string, _: unknown, command: Command) =>
      add(cli, username, command.optsWithGlobals()),
    );
  bookOptions(user.command('list').alias('ls'))
    .description('show the users')
    .option('-o, --output <format>', outputHelp, 'table')
    .action((_: unknown, command: Command) => list(cli, command.optsWithGlobals()));
  bookOptions(user.command('passwd <username>'))
    .description('set another password; ends their sessions')
    .action((username: string, _: unknown, command: Command) =>
      passwd(cli, username, command.optsWithGlobals()),
    );
  const changes: Readonly<
    Record<string, readonly [string, string, (people: People, name: string, same: string) => People]>
  > = {
    remove: ['take a user away, with their keys and sessions', 'removed', removePerson],
    disable: [
      'let a user in no more; ends their sessions and keys',
      'disabled',
      (people, name, same) => changePerson(people, name, { disabled: true }, same),
    ],
    enable: [
      'let a disabled user in again',
      'enabled',
      (people, name, same) => changePerson(people, name, { disabled: false }, same),
    ],
  };
  for (const [verb, [description, done, change]] of Object.entries(changes)) {
    bookOptions(user.command(`${verb} <username>`))
      .description(description)
      .action((username: string, _: unknown, command: Command) => {
        const options = command.optsWithGlobals<BookOptions>();
        const changed = (people: People) => change(people, username, sameUsers(options));
        return alter(cli, options, changed, `user ${username} ${done}`);
      });
  }
}

async function add(cli: Cli, username: string, options: AddOptions): Promise<void> {
  if (!/^[^\s\p{C}]{1,255}$/u.test(username))
    throw new CliError(
      exitCodes.usage,
      `"${username}" is no user name`,
      'Use up to 255 characters without blanks.',
    );
  await withSession(cli, options, async ({ client, namespace }) => {
    const book = await findBook(client, namespace, options);
    requireUsed(book);
    const { name = '', email = '', role: roles = [] } = options;
    const known = { id: `local:${randomUUID()}`, username, name, email, roles, rev: 1 };
    const added = (people: People, passwordHash: string) =>
      addPerson(people, { ...known, passwordHash }, sameUsers(options));
    // Who exists already is told before anybody types a password.
    added(await readBook(client, book), '');
    const passwordHash = await newPassword(cli);
    await changeBook(client, book, (people) => added(people, passwordHash));
    cli.terminal.print(`user ${username} added to Secret ${book.namespace}/${book.secret}`);
  });
}

async function passwd(cli: Cli, username: string, options: BookOptions): Promise<void> {
  await withSession(cli, options, async ({ client, namespace }) => {
    const book = await findBook(client, namespace, options);
    const same = sameUsers(options);
    personNamed(await readBook(client, book), username, same);
    const passwordHash = await newPassword(cli);
    await changeBook(client, book, (people) => changePerson(people, username, { passwordHash }, same));
    cli.terminal.print(`password of ${username} changed; their sessions have ended`);
  });
}

async function alter(
  cli: Cli,
  options: BookOptions,
  change: (people: People) => People,
  done: string,
): Promise<void> {
  await withSession(cli, options, async ({ client, namespace }) => {
    await changeBook(client, await findBook(client, namespace, options), change);
    cli.terminal.print(done);
  });
}

async function list(cli: Cli, options: BookOptions & { readonly output: string }): Promise<void> {
  const format = parseOutputFormat(options.output, outputFormats);
  await withSession(cli, options, async ({ client, namespace }) => {
    const people = await readBook(client, await findBook(client, namespace, options));
    cli.terminal.print(formatUsers(people, format));
  });
}

async function newPassword(cli: Cli): Promise<string> {
  const password = await readNewHidden(cli, 'Password');
  if (password.length < shortest || password.length > 1024)
    throw new CliError(
      exitCodes.usage,
      'the password is too short or too long',
      `Use ${shortest} to 1024 characters.`,
    );
  return hashPassword(password);
}
