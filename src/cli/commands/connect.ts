import { basename } from 'node:path';
import type { Command } from 'commander';
import { suggest } from '../arguments/suggest.ts';
import { CannotEdit } from '../connect/cannot-edit.ts';
import { type Client, clients, type Scope } from '../connect/clients.ts';
import { findServer } from '../connect/find-server.ts';
import type { Entry, Server } from '../connect/server.ts';
import { readOrEmpty, replaceFile } from '../connect/write-file.ts';
import type { Cli } from '../context.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import { formatTable } from '../table.ts';
import type { GlobalOptions } from '../target.ts';

interface ConnectOptions extends GlobalOptions {
  readonly agent?: string;
  readonly route?: string;
  readonly stdio?: true;
  readonly write?: true;
  readonly name: string;
  readonly scope?: string;
}

const examples = `
Without --write the configuration is printed, and where it belongs. With --write it is merged into the client's file:
everything else in it stays, a copy of the file as it was is kept beside it, and one that cannot be read is left alone.

Clients that only start programs get the bridge \`ploinky mcp\`; so does every client with --stdio, which is the way
into a cluster whose router has no address.

Examples:
  ploinky connect                                     the clients, and where they keep their servers
  ploinky connect claude-code                         print
  ploinky connect vscode --write                      write .vscode/mcp.json in the present folder
  ploinky connect cursor --write --agent files --name files
  ploinky connect claude-desktop --write --context prod -n team`;

export function addConnect(program: Command, cli: Cli): void {
  program
    .command('connect [client]')
    .description('print or write the configuration of an MCP client, so that it finds the agents')
    .option('-w, --write', 'write it into the client’s file')
    .option('-a, --agent <name>', 'only the tools of this agent')
    .option('--route <name>', 'what this Route serves')
    .option('--stdio', 'let the client start `ploinky mcp` instead of speaking HTTP')
    .option('--name <name>', 'the name of the server in the client', 'ploinky')
    .option(
      '--scope <scope>',
      'user (all projects) or project (the present folder); default: the client’s usual one',
    )
    .addHelpText('after', examples)
    .action(async (client: string | undefined, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<ConnectOptions>();
      if (client === undefined) listClients(cli);
      else await connect(cli, findClient(client), options);
    });
}

function listClients({ terminal, machine }: Cli): void {
  const rows = clients.map(({ id, title, files, http }) => {
    const [first] = files;
    return [id, title, http === undefined ? 'stdio' : 'HTTP, stdio', first?.path(machine) ?? ''];
  });
  terminal.print(formatTable(['CLIENT', 'NAME', 'SPEAKS', 'FILE'], rows));
}

function findClient(id: string): Client {
  const found = clients.find((client) => client.id === id);
  if (found !== undefined) return found;
  const ids = clients.map((client) => client.id);
  const near = suggest(id, ids);
  const hint = near.length > 0 ? `Did you mean ${near.join(' or ')}? ` : '';
  throw new CliError(exitCodes.usage, `there is no client "${id}"`, `${hint}Known are ${ids.join(', ')}.`);
}

async function connect(cli: Cli, client: Client, options: ConnectOptions): Promise<void> {
  const name = parseName(options.name);
  const { scope, path } = placeOf(cli, client, options.scope);
  const kind = options.stdio || client.http === undefined ? 'stdio' : 'http';
  const { server, notes } = await findServer(cli, options, kind);
  const parts = { client, name, server, scope, path, entry: entryOf(client, server) };
  if (options.write) await write(cli, parts);
  else await print(cli, parts);
  for (const note of notes) cli.terminal.note(note);
}

interface Parts {
  readonly client: Client;
  readonly name: string;
  readonly server: Server;
  readonly scope: Scope;
  /** Undefined: only the client's own command writes it. */
  readonly path: string | undefined;
  readonly entry: Entry;
}

function entryOf(client: Client, server: Server): Entry {
  if (server.kind === 'stdio') return client.stdio(server);
  if (client.http !== undefined) return client.http(server);
  throw new CliError(exitCodes.usage, `${client.title} takes no addresses`, 'Use --stdio.');
}

/** A name that is one word in every client's file and in the names that it gives to tools. */
function parseName(name: string): string {
  if (/^[A-Za-z][A-Za-z0-9_-]{0,39}$/.test(name)) return name;
  const remedy = 'Use up to 40 letters, digits, - and _, the first a letter.';
  throw new CliError(exitCodes.usage, `--name ${name} is no name for a server`, remedy);
}

function placeOf(
  { machine }: Cli,
  { title, files }: Client,
  wanted: string | undefined,
): Pick<Parts, 'scope' | 'path'> {
  const found = wanted === undefined ? files[0] : files.find(({ scope }) => scope === wanted);
  if (found !== undefined) return { scope: found.scope, path: found.path(machine) };
  const known = files.map(({ scope }) => scope).join(' or ');
  throw new CliError(exitCodes.usage, `${title} has no scope "${wanted}"`, `Its --scope is ${known}.`);
}

/** The configuration alone goes to standard output, so that it can be piped. */
async function print({ terminal }: Cli, { client, name, server, scope, path, entry }: Parts): Promise<void> {
  if (path !== undefined) terminal.note(`For ${path}:`);
  terminal.print(await render(client, name, entry));
  const command = client.command?.(name, server, scope);
  if (command !== undefined) terminal.note(`\nOr let ${client.title} write it:\n  ${command}`);
  if (path !== undefined) terminal.note('\nOr add --write to this command.');
  terminal.note(client.next);
}

async function render({ format, holder }: Client, name: string, entry: Entry): Promise<string> {
  if (format === 'json') return JSON.stringify({ [holder]: { [name]: entry } }, null, 2);
  const { renderToml } = await import('../connect/edit-toml.ts');
  return renderToml(holder, name, entry).trimEnd();
}

async function write(cli: Cli, { client, name, server, scope, path, entry }: Parts): Promise<void> {
  const { terminal } = cli;
  if (path === undefined) {
    const command = client.command?.(name, server, scope);
    const message = `${client.title} rewrites its file of the scope "${scope}" while it runs`;
    throw new CliError(exitCodes.usage, message, `Let it write it itself: ${command}`);
  }
  const text = await readOrEmpty(path);
  const edited = await edit(client, text, path, { name, entry });
  if (edited === text && text !== '') {
    terminal.print(`${path} has it already.`);
    return;
  }
  const backup = await replaceFile(path, edited, cli.clock.now());
  terminal.print(`${path} ${backup === undefined ? 'made' : 'changed'}.`);
  if (backup !== undefined) terminal.note(`What it was is in ${basename(backup)} beside it.`);
  terminal.note(client.next);
}

async function edit(
  { title, format, holder }: Client,
  text: string,
  path: string,
  { name, entry }: { readonly name: string; readonly entry: Entry },
): Promise<string> {
  try {
    // Loaded when needed: no other verb waits for them.
    if (format === 'json')
      return (await import('../connect/edit-json.ts')).editJson(text, { holder, name, entry });
    return (await import('../connect/edit-toml.ts')).editToml(text, { holder, name, entry });
  } catch (error) {
    if (!(error instanceof CannotEdit)) throw error;
    const remedy = `It was left as it is. Mend it in ${title}, or add by hand what \`ploinky connect\` prints.`;
    throw new CliError(exitCodes.failed, `${path} cannot be changed: ${error.message}`, remedy);
  }
}
