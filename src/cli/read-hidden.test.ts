import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import type { Cli } from './context.ts';
import { readHidden, readNewHidden } from './read-hidden.ts';

function cliWith(isTTY: boolean) {
  const modes: boolean[] = [];
  const notes: string[] = [];
  const input = Object.assign(new PassThrough(), { isTTY, setRawMode: (raw: boolean) => modes.push(raw) });
  const cli = {
    prompter: undefined,
    streams: { input, output: new PassThrough() },
    readStdin: async () => 'from a pipe\n',
    terminal: { writeNote: (text: string) => notes.push(text) },
  } as unknown as Cli;
  return { cli, input, modes, notes };
}

test('what is typed is not echoed, also when notes go to a file', async () => {
  const { cli, input, modes, notes } = cliWith(true);
  const value = readHidden(cli, 'value of A');
  input.write('typed\r');
  assert.equal(await value, 'typed');
  // The terminal echoes nothing in raw mode.
  assert.deepEqual(modes, [true, false]);
  assert.deepEqual(notes, ['value of A: ', '\n']);
});

test('what comes from a pipe is read as it is, once', async () => {
  assert.equal(await readHidden(cliWith(false).cli, 'value'), 'from a pipe');
  assert.equal(await readNewHidden(cliWith(false).cli, 'value'), 'from a pipe');
});
