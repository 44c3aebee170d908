import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Cli } from './context.ts';
import { buildProgram } from './program.ts';

test('the list of verbs names their words in the order of their own help', () => {
  const program = buildProgram({ calledAs: 'ploinky', version: '1.2.3' } as Cli);
  const help = program.helpInformation();
  assert.match(help, /^ {2}call \[options\] \[agent\] <tool>/m);
  for (const command of program.createHelp().visibleCommands(program)) {
    const words = command
      .usage()
      .replace(/^\[options\] ?/, '')
      .trim();
    assert.ok(help.includes(words), `${command.name()}: ${words}`);
  }
});
