import type { Command, Option } from 'commander';
import type { Cli } from '../context.ts';

const examples = `
Examples:
  source <(ploinky completion bash)                       in ~/.bashrc
  ploinky completion zsh > "\${fpath[1]}/_ploinky"
  ploinky completion fish > ~/.config/fish/completions/ploinky.fish
  ploinky completion kubectl > ~/.local/bin/kubectl_complete-ploinky   (executable, on PATH: kubectl ploinky <Tab>)`;

export function addCompletion(program: Command, cli: Cli): void {
  program
    .command('completion <shell>')
    .description('print a completion script for bash, zsh, fish or kubectl')
    .addHelpText('after', examples)
    .action((shell: string, _options: unknown, command: Command) => {
      const script = scripts[shell];
      if (script === undefined)
        command.error(`error: no completion for "${shell}"; use bash, zsh, fish or kubectl`);
      else cli.terminal.print(script(wordsOf(program)));
    });
}

interface Words {
  readonly verbs: readonly {
    readonly name: string;
    readonly description: string;
    readonly flags: string[];
  }[];
  /** Options that may stand before the verb. */
  readonly flags: readonly string[];
  /** Those of them that take a value, long and short. */
  readonly valued: readonly string[];
}

/** Verbs with their flags, from the program itself: a new verb completes without a change here. */
function wordsOf(program: Command): Words {
  const long = (options: readonly Option[]) => options.flatMap((option) => option.long ?? []);
  const common = long(program.options);
  const below = ({ commands }: Command) => [
    ...commands.map((each) => each.name()),
    ...new Set(commands.flatMap((each) => long(each.options))),
  ];
  const valued = program.options.filter((option) => option.required);
  return {
    verbs: program.commands.map((command) => ({
      name: command.name(),
      description: command.description(),
      flags: [...below(command), ...long(command.options), ...common, '--help'],
    })),
    flags: [...common, '--help'],
    valued: valued.flatMap(({ long: full, short }) => [full, short].filter((flag) => flag !== undefined)),
  };
}

/** Shell code that sets `verb` to the first of the given words that is neither an option nor an option's value. */
function findVerb({ valued }: Words): string {
  return `  local verb= skip=
  for each in "$@"; do
    if [ -n "$skip" ]; then skip=; continue; fi
    case "$each" in
      ${valued.join('|')}) skip=1;;
      -*) ;;
      *) verb=$each; break;;
    esac
  done`;
}

const scripts: Readonly<Record<string, (words: Words) => string>> = {
  bash: (words) => `# bash completion for ploinky
_ploinky_verb() {
${findVerb(words)}
  echo "$verb"
}
_ploinky() {
  local word="\${COMP_WORDS[COMP_CWORD]}" verb
  verb=$(_ploinky_verb "\${COMP_WORDS[@]:1:COMP_CWORD-1}")
  case "$verb" in
    "") COMPREPLY=($(compgen -W "${[...words.verbs.map(({ name }) => name), ...words.flags].join(' ')}" -- "$word"));;
${words.verbs.map(({ name, flags }) => `    ${name}) COMPREPLY=($(compgen -W "${flags.join(' ')}" -- "$word"));;`).join('\n')}
  esac
}
complete -o default -F _ploinky ploinky`,
  kubectl: (words) => `#!/bin/sh
# kubectl runs this as kubectl_complete-ploinky with the words so far, the last of them unfinished.
find_verb() {
${findVerb(words).replace('  local verb= skip=', '  verb= skip=')}
}
last=
count=$#
for each in "$@"; do last=$each; done
before=$((count > 0 ? count - 1 : 0))
n=0
for each in "$@"; do
  n=$((n + 1))
  [ "$n" -eq 1 ] && set --
  [ "$n" -le "$before" ] && set -- "$@" "$each"
done
[ "$count" -eq 0 ] && set --
find_verb "$@"
case "$verb" in
  "") words="${[...words.verbs.map(({ name }) => name), ...words.flags].join(' ')}";;
${words.verbs.map(({ name, flags }) => `  ${name}) words="${flags.join(' ')}";;`).join('\n')}
  *) words=;;
esac
for each in $words; do
  case "$each" in "$last"*) echo "$each";; esac
done
# Let the shell complete files where no word fits.
echo ":0"`,
  zsh: (words) => `#compdef ploinky
_ploinky_verb() {
${findVerb(words)}
  print -r -- "$verb"
}
_ploinky() {
  local verb="$(_ploinky_verb "\${(@)words[2,CURRENT-1]}")"
  case "$verb" in
    "")
      local -a verbs=(
${words.verbs.map(({ name, description }) => `        '${name}:${description.replaceAll("'", '’').replaceAll(':', '\\:')}'`).join('\n')}
      )
      _describe verb verbs
      compadd -- ${words.flags.join(' ')};;
${words.verbs.map(({ name, flags }) => `    ${name}) compadd -- ${flags.join(' ')};;`).join('\n')}
  esac
  _files
}
_ploinky "$@"`,
  fish: ({ verbs, flags: common }) =>
    [
      ...common.map((flag) => `complete -c ploinky -n __fish_use_subcommand -l ${flag.slice(2)}`),
      ...verbs.flatMap(({ name, description, flags }) => [
        `complete -c ploinky -n __fish_use_subcommand -a ${name} -d '${description.replaceAll("'", '’')}'`,
        ...flags.map(
          (flag) => `complete -c ploinky -n '__fish_seen_subcommand_from ${name}' -l ${flag.slice(2)}`,
        ),
      ]),
    ].join('\n'),
};
