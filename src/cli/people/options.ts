import type { Command } from 'commander';
import type { BookOptions } from './book.ts';

/** The options by which a command knows whose users it is about. */
export function bookOptions(command: Command): Command {
  return command
    .option('-a, --agent <name>', 'the users of this Agent')
    .option('--route <name>', 'the users of this Route')
    .option('--secret <name>', 'the users in this Secret');
}

const flags = {
  agent: '--agent',
  route: '--route',
  secret: '--secret',
  workspace: '--workspace',
  namespace: '--namespace',
  context: '--context',
  kubeconfig: '--kubeconfig',
} as const;

/** The options that lead to the same users again, with a blank before each: for commands that a remedy names. */
export function sameUsers(options: BookOptions): string {
  return Object.entries(flags)
    .map(([name, flag]) => [flag, options[name as keyof typeof flags]] as const)
    .map(([flag, value]) => (value === undefined ? '' : ` ${flag} ${quoted(value)}`))
    .join('');
}

/** As a shell takes it. */
function quoted(value: string): string {
  return /^[\w./:@-]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`;
}
