import { createReadStream, createWriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { json } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import { type BlobInfo, blobIn, isBlobId } from '#wire/blobs.ts';
import { askBlobs, counted } from '../blob/client.ts';
import { typeOf } from '../blob/media-type.ts';
import { showProgress, sizeText } from '../blob/progress.ts';
import type { Cli } from '../context.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import { formatData, parseOutputFormat } from '../output.ts';
import { withRouter } from '../session.ts';
import type { GlobalOptions } from '../target.ts';
import { harmless } from '../terminal.ts';

interface BlobOptions extends GlobalOptions {
  readonly path: string;
  readonly name?: string;
  readonly type?: string;
  readonly ttl?: string;
  readonly file?: string;
  readonly output: string;
}

const help = `
A blob is a file in the workspace of an agent, at blobs/<id>: tools get that path as an argument, and give files of their
own as links. See docs/blobs.md.

Examples:
  ploinky blob put reports data.csv
  ploinky call reports summarize -p file=blobs/<id>
  ploinky blob get reports <id> -f summary.pdf
  ploinky blob list reports`;

export function addBlob(program: Command, cli: Cli): void {
  const blob = program.command('blob').description('files in and out of agents').addHelpText('after', help);
  verb(blob, 'put <agent> <file>', 'upload a file; "-" is standard input')
    .option('--name <name>', 'what it is called (default: the name of the file)')
    .option('--type <type>', 'media type (default: by the ending of the name)')
    .option('--ttl <seconds>', 'after which it is deleted')
    .option('-o, --output <format>', 'id or json', 'id')
    .action((agent: string, file: string, _: unknown, command: Command) =>
      put(cli, agent, file, command.optsWithGlobals<BlobOptions>()),
    );
  verb(blob, 'get <agent> <id>', 'download one, to standard output or a file')
    .option('-f, --file <path>', 'where to, whole or not at all')
    .action((agent: string, id: string, _: unknown, command: Command) =>
      get(cli, agent, id, command.optsWithGlobals<BlobOptions>()),
    );
  verb(blob, 'list <agent>', 'all that the agent has')
    .option('-o, --output <format>', 'table, yaml or json', 'table')
    .action((agent: string, _: unknown, command: Command) =>
      list(cli, agent, command.optsWithGlobals<BlobOptions>()),
    );
  verb(blob, 'rm <agent> <id...>', 'delete some').action(
    (agent: string, ids: string[], _: unknown, command: Command) =>
      remove(cli, agent, ids, command.optsWithGlobals<BlobOptions>()),
  );
}

function verb(parent: Command, name: string, about: string): Command {
  return parent
    .command(name)
    .description(about)
    .option('--path <path>', 'where a Route has the files of its agents', '/blobs');
}

async function put(cli: Cli, agent: string, file: string, options: BlobOptions): Promise<void> {
  const format = options.output === 'id' ? undefined : parseOutputFormat(options.output, ['json']);
  const isInput = file === '-';
  const size = isInput ? undefined : await sizeOf(file);
  const name = options.name ?? (isInput ? undefined : basename(file));
  await withRouter(cli, options, async (router) => {
    const progress = showProgress(cli.terminal, cli.clock, size);
    const source = isInput ? cli.streams.input : createReadStream(file, { highWaterMark: 1024 * 1024 });
    const body = source.pipe(counted(progress.at));
    source.once('error', (error: Error) => body.destroy(error));
    const headers = {
      'x-mime-type': options.type ?? typeOf(name),
      ...(name !== undefined && { 'x-file-name': encodeURIComponent(name) }),
      ...(size !== undefined && { 'content-length': String(size) }),
    };
    const query = options.ttl === undefined ? '' : `?ttl=${encodeURIComponent(options.ttl)}`;
    const path = `${placeOf(options, agent)}${query}`;
    const answer = await askBlobs({
      router,
      method: 'POST',
      path,
      agent,
      headers,
      body,
      signal: cli.interrupted,
    }).finally(progress.end);
    const info = (await json(answer)) as BlobInfo;
    cli.terminal.print(format === undefined ? info.id : (formatData(info, format) ?? ''));
  });
}

async function sizeOf(file: string): Promise<number> {
  const found = await stat(file).catch(() => undefined);
  if (found?.isFile()) return found.size;
  throw new CliError(exitCodes.usage, `${file} is no file`);
}

async function get(cli: Cli, agent: string, text: string, options: BlobOptions): Promise<void> {
  const id = idOf(text);
  const path = `${placeOf(options, agent)}/${id}`;
  await withRouter(cli, options, async (router) => {
    const answer = await askBlobs({ router, method: 'GET', path, agent, id, signal: cli.interrupted });
    const progress = showProgress(cli.terminal, cli.clock, Number(answer.headers['content-length']));
    try {
      if (options.file === undefined) await pipeline(answer, cli.streams.output, { end: false });
      else
        await intoFile(options.file, (part) =>
          pipeline(answer, counted(progress.at), createWriteStream(part)),
        );
    } finally {
      progress.end();
    }
  });
}

/** Whole or not at all: a download that broke off looks like none. */
async function intoFile(path: string, write: (part: string) => Promise<void>): Promise<void> {
  const part = `${path}.part`;
  try {
    await write(part);
    await rename(part, path);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}

async function list(cli: Cli, agent: string, options: BlobOptions): Promise<void> {
  const format = parseOutputFormat(options.output, ['table', 'yaml', 'json']);
  await withRouter(cli, options, async (router) => {
    const blobs: BlobInfo[] = [];
    for (let next: string | undefined = ''; next !== undefined; ) {
      const path = `${placeOf(options, agent)}?limit=1000${next === '' ? '' : `&after=${next}`}`;
      const answer = await askBlobs({ router, method: 'GET', path, agent, signal: cli.interrupted });
      const page = (await json(answer)) as { blobs: BlobInfo[]; next?: string };
      blobs.push(...page.blobs);
      next = page.next;
    }
    cli.terminal.print(formatData({ blobs }, format) ?? rowsOf(blobs).join('\n'));
  });
}

function rowsOf(blobs: readonly BlobInfo[]): string[] {
  const rows = blobs.map(({ id, size, mime, createdAt, filename }) =>
    [id.padEnd(48), sizeText(size).padStart(10), createdAt.slice(0, 19), mime, harmless(filename ?? '')].join(
      '  ',
    ),
  );
  return [[`ID${' '.repeat(46)}`, '      SIZE', 'CREATED            ', 'TYPE', 'NAME'].join('  '), ...rows];
}

async function remove(cli: Cli, agent: string, ids: readonly string[], options: BlobOptions): Promise<void> {
  const asked = ids.map(idOf);
  await withRouter(cli, options, async (router) => {
    for (const id of asked) {
      const path = `${placeOf(options, agent)}/${id}`;
      (await askBlobs({ router, method: 'DELETE', path, agent, id, signal: cli.interrupted })).resume();
      cli.terminal.print(`deleted ${id}`);
    }
  });
}

/** An id, a path below the workspace, or a URI. */
function idOf(text: string): string {
  const id = isBlobId(text) ? text : blobIn(text)?.id;
  if (id !== undefined) return id;
  throw new CliError(
    exitCodes.usage,
    `${harmless(text)} is no id of a blob`,
    'It has 48 digits; `ploinky blob list` shows them.',
  );
}

function placeOf({ path }: BlobOptions, agent: string): string {
  return `${path.replace(/\/+$/, '')}/${encodeURIComponent(agent)}`;
}
