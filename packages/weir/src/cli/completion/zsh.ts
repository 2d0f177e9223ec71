import { NAMES, type Completed, type CommandPosition } from './positions.ts';

/** A completion script for zsh: to be sourced after `compinit`, or stored as `_weir` in a directory of `fpath`. */
export const zshScript = (positions: readonly CommandPosition[]): string => `#compdef weir
_weir() {
  local place= option= word i operands=0
  local -a found api
  for ((i = 2; i < CURRENT; i++)); do
    word=$words[i]
    if [[ -n $option ]]; then
      case $option in (--api|--secret-file) api+=($option "\${\${(Q)word}/#\\~\\//$HOME/}") ;; esac
      option=
      continue
    fi
    case "$place:$word" in
${positions.flatMap(steps).join('\n')}
      (*:(--api|--secret-file)=*) api+=(\${word%%=*} "\${(Q)word#*=}") ;;
      (*:-*) ;;
      (*) (( ++operands )) ;;
    esac
  done
  case "$place:$option" in
${positions.flatMap(values).join('\n')}
    (*:?*) ;;
${positions.map(words).join('\n')}
  esac
}
if [[ $funcstack[1] == _weir ]]; then
  _weir "$@"
else
  compdef _weir weir
fi
`;

function steps({ name, commands, options }: CommandPosition): string[] {
  const into = commands.map(({ name: word }) => {
    const next = name === '' ? word : `${name}.${word}`;
    return `      (${name}:${word}) place=${next} ;;`;
  });
  const taking = options.flatMap(({ value, forms }) => (value ? forms : []));
  if (taking.length === 0) return into;
  return [...into, `      (${taking.map((form) => `${name}:${form}`).join('|')}) option=$word ;;`];
}

const values = ({ name, options }: CommandPosition): string[] =>
  options.flatMap(({ value, forms }) =>
    value && value.kind !== 'other'
      ? [`    (${forms.map((form) => `${name}:${form}`).join('|')}) ${reply(value)} ;;`]
      : [],
  );

function words({ name, commands, options, operand }: CommandPosition): string {
  const all = options.flatMap(({ forms, summary }) => forms.map((form) => item(form, summary)));
  const names = commands.map((command) => item(command.name, command.summary));
  const rest = names.length > 0 ? described('command', names) : reply(operand);
  return `    (${name}:)
      if [[ $words[CURRENT] == -* ]]; then
        ${described('option', all)}
      else
        ${rest}
      fi
      ;;`;
}

const described = (what: string, items: readonly string[]): string =>
  `found=(${items.join(' ')}); _describe ${what} found`;

/** An item of `_describe`, in which the first colon ends the word; options and commands contain none. */
const item = (word: string, summary: string): string =>
  `'${`${word}:${summary}`.replaceAll("'", `'\\''`)}'`;

function reply(completed: Completed): string {
  switch (completed.kind) {
    case 'files':
      return '_files';
    case 'choices':
      return `compadd ${completed.choices.join(' ')}`;
    case 'names':
      return `found=()
        case $operands in
${NAMES.map((kind, index) => `          (${index}) found=("\${(@f)$(command weir ctl $api routes --names ${kind} 2>/dev/null </dev/null)}") ;;`).join('\n')}
        esac
        found=(\${found:#})
        (( $#found )) && compadd -- "\${found[@]}"`;
    case 'other':
      return ':';
    default:
      return completed satisfies never;
  }
}
