import type { Command } from 'commander';

/** The options by which a command knows whose users it is about. */
export function bookOptions(command: Command): Command {
  return command
    .option('-a, --agent <name>', 'the users of this Agent')
    .option('--route <name>', 'the users of this Route')
    .option('--secret <name>', 'the users in this Secret');
}
