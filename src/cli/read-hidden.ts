import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import type { Cli } from './context.ts';
import { CliError } from './errors.ts';
import { exitCodes } from './exit-codes.ts';

/**
 * A value that may be in no command line and on no screen: asked for at the terminal without echo, else the standard
 * input without its last line end. Throws `usage` for an empty one, `interrupted` for Ctrl-C.
 */
export async function readHidden(cli: Cli, prompt: string): Promise<string> {
  const value = isTyped(cli) ? await ask(cli, prompt) : (await cli.readStdin()).replace(/\r?\n$/, '');
  if (value === '')
    throw new CliError(exitCodes.usage, `${prompt} is empty`, 'Type it, or give it as standard input.');
  return value;
}

/** As `readHidden`, asked for twice at a terminal. */
export async function readNewHidden(cli: Cli, prompt: string): Promise<string> {
  const value = await readHidden(cli, prompt);
  if (!isTyped(cli) || (await readHidden(cli, `${prompt} again`)) === value) return value;
  throw new CliError(exitCodes.usage, 'the two are not the same', 'Try again.');
}

/** Somebody types, whether he sees the prompt or not: notes may go to a file. */
function isTyped({ streams, prompter }: Cli): boolean {
  return prompter !== undefined || ('isTTY' in streams.input && streams.input.isTTY === true);
}

async function ask(cli: Cli, prompt: string): Promise<string> {
  cli.terminal.writeNote(`${prompt}: `);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({
    input: cli.streams.input,
    output: nowhere,
    terminal: true,
    historySize: 0,
  });
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  reader.once('line', resolve);
  reader.once('SIGINT', () => reject(new CliError(exitCodes.interrupted, '')));
  reader.once('close', () => resolve(''));
  try {
    return await promise;
  } finally {
    reader.close();
    cli.terminal.writeNote('\n');
  }
}
