import type { Command } from 'commander';
import type { Cli } from '../context.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import { addList, addSet } from './secret.ts';

/** The words of the Ploinky contract, as far as they keep values out of command lines and off screens. */
export function addVar(program: Command, cli: Cli): void {
  addSet(program.command('var <name> [refused...]', { hidden: true }), cli);
  addList(program.command('vars', { hidden: true }), cli);
  refuse(
    program,
    'echo',
    'values of secrets are not shown',
    '`ploinky secret list` shows the names and who uses them; an agent has its own in its environment.',
  );
  refuse(
    program,
    'expose',
    'nothing is written into an agent’s checkout',
    'Say it in its Agent: spec.env: [{name: NAME, valueFrom: {alias: OTHER}}], and `ploinky apply` it.',
  );
}

function refuse(program: Command, verb: string, why: string, remedy: string): void {
  program
    .command(`${verb} [words...]`, { hidden: true })
    .allowUnknownOption()
    .action(() => {
      throw new CliError(exitCodes.usage, why, remedy);
    });
}
