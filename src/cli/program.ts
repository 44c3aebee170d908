import { Command, CommanderError } from 'commander';
import { addApply } from './commands/apply.ts';
import { addBlob } from './commands/blob.ts';
import { addCall } from './commands/call.ts';
import { addCompletion } from './commands/completion.ts';
import { addConnect } from './commands/connect.ts';
import { addDelete } from './commands/delete.ts';
import { addDescribe } from './commands/describe.ts';
import { addDoctor } from './commands/doctor.ts';
import { addDown } from './commands/down.ts';
import { addEvents } from './commands/events.ts';
import { addGet } from './commands/get.ts';
import { addInit } from './commands/init.ts';
import { addInstall, addUninstall, addUpgrade } from './commands/install.ts';
import { addKeys } from './commands/key.ts';
import { addLogs } from './commands/logs.ts';
import { addMcp } from './commands/mcp.ts';
import { addRestart } from './commands/restart.ts';
import { addScale } from './commands/scale.ts';
import { addSecret } from './commands/secret.ts';
import { addStatus } from './commands/status.ts';
import { addTask } from './commands/task.ts';
import { addTools } from './commands/tools.ts';
import { addTop } from './commands/top.ts';
import { addUp } from './commands/up.ts';
import { addUser } from './commands/user.ts';
import { addVar } from './commands/var.ts';
import { addVersion } from './commands/version.ts';
import type { Cli } from './context.ts';
import { describeError, exitCodeOf } from './errors.ts';
import { exitCodeHelp, exitCodes } from './exit-codes.ts';
import { targetHelp } from './target.ts';

/** In the order of the help text. A new verb is one file in commands/ and one line here. */
const verbs = [
  addInit,
  addUp,
  addDown,
  addStatus,
  addApply,
  addGet,
  addDescribe,
  addEvents,
  addDelete,
  addRestart,
  addScale,
  addLogs,
  addTools,
  addCall,
  addTask,
  addTop,
  addBlob,
  addUser,
  addKeys,
  addConnect,
  addMcp,
  addDoctor,
  addInstall,
  addUpgrade,
  addUninstall,
  addSecret,
  addVar,
  addVersion,
  addCompletion,
];

/** Runs one command line (without program name) and returns the exit code. Never throws. */
export async function runCli(args: readonly string[], cli: Cli): Promise<number> {
  try {
    await buildProgram(cli).parseAsync([...args], { from: 'user' });
    return exitCodes.ok;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
    if (cli.interrupted.aborted) return exitCodes.interrupted;
    const text = describeError(error);
    if (text !== '') cli.terminal.note(`${cli.terminal.styleNote('red', 'error:')} ${text}`);
    return exitCodeOf(error);
  }
}

export function buildProgram(cli: Cli): Command {
  const { terminal } = cli;
  const program = new Command(cli.calledAs)
    .description('AI agents as resources: sandboxed, reconciled, and behind one MCP endpoint.')
    .option('-C, --workspace <folder>', 'folder of the workspace (default: the present one)')
    .option('--context <name>', 'context of a cluster, instead of a workspace')
    .option('--kubeconfig <file>', 'file with the context')
    .option('--cluster', 'the current context of the kubeconfig')
    .option('-n, --namespace <name>', 'namespace of the objects (default: "default", or the context’s)')
    .option('--router <url>', 'where the router of the cluster is reached')
    .option('--home-namespace <name>', 'where Ploinky is installed in the cluster (default: found by labels)')
    .version(`ploinky ${cli.version}`, '-V, --version', 'print the version')
    .addHelpText('after', `\n${targetHelp}\n\n${exitCodeHelp}`)
    .showSuggestionAfterError(true)
    .configureHelp({ subcommandTerm: termOf })
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.write(text),
      writeErr: (text) => terminal.writeNote(text),
    });
  // Set on the parent before the verbs are made: they copy it.
  for (const add of verbs) add(program, cli);
  return program;
}

/** A verb in the list of all, with the words that its own help has. */
function termOf(command: Command): string {
  const flags = command.options.length > 0 ? '[options] ' : '';
  return `${command.name()} ${command.usage().replace(/^\[options\] ?/, flags)}`.trimEnd();
}
