import type { Command, Option } from 'commander';
import type { Cli } from '../context.ts';

const examples = `
Examples:
  source <(ploinky completion bash)                       in ~/.bashrc
  ploinky completion zsh > "\${fpath[1]}/_ploinky"
  ploinky completion fish > ~/.config/fish/completions/ploinky.fish`;

export function addCompletion(program: Command, cli: Cli): void {
  program
    .command('completion <shell>')
    .description('print a completion script for bash, zsh or fish')
    .addHelpText('after', examples)
    .action((shell: string, _options: unknown, command: Command) => {
      const script = scripts[shell];
      if (script === undefined) command.error(`error: no completion for "${shell}"; use bash, zsh or fish`);
      else cli.terminal.print(script(wordsOf(program)));
    });
}

interface Words {
  readonly verbs: readonly {
    readonly name: string;
    readonly description: string;
    readonly flags: string[];
  }[];
}

/** Verbs with their flags, from the program itself: a new verb completes without a change here. */
function wordsOf(program: Command): Words {
  const long = (options: readonly Option[]) => options.flatMap((option) => option.long ?? []);
  const common = long(program.options);
  return {
    verbs: program.commands.map((command) => ({
      name: command.name(),
      description: command.description(),
      flags: [...long(command.options), ...common, '--help'],
    })),
  };
}

const scripts: Readonly<Record<string, (words: Words) => string>> = {
  bash: ({ verbs }) => `# bash completion for ploinky
_ploinky() {
  local word="\${COMP_WORDS[COMP_CWORD]}" verb="\${COMP_WORDS[1]}"
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${verbs.map(({ name }) => name).join(' ')}" -- "$word"))
    return
  fi
  case "$verb" in
${verbs.map(({ name, flags }) => `    ${name}) COMPREPLY=($(compgen -W "${flags.join(' ')}" -- "$word"));;`).join('\n')}
  esac
}
complete -o default -F _ploinky ploinky`,
  zsh: ({ verbs }) => `#compdef ploinky
_ploinky() {
  if (( CURRENT == 2 )); then
    local -a verbs=(
${verbs.map(({ name, description }) => `      '${name}:${description.replaceAll("'", '’')}'`).join('\n')}
    )
    _describe verb verbs
    return
  fi
  case "$words[2]" in
${verbs.map(({ name, flags }) => `    ${name}) compadd -- ${flags.join(' ')};;`).join('\n')}
  esac
  _files
}
_ploinky "$@"`,
  fish: ({ verbs }) =>
    verbs
      .flatMap(({ name, description, flags }) => [
        `complete -c ploinky -n __fish_use_subcommand -a ${name} -d '${description.replaceAll("'", '’')}'`,
        ...flags.map(
          (flag) => `complete -c ploinky -n '__fish_seen_subcommand_from ${name}' -l ${flag.slice(2)}`,
        ),
      ])
      .join('\n'),
};
