import type { Completed, Place } from './places.ts';

/** A script for bash, which is to be sourced. */
export const bashScript = (places: readonly Place[]): string => `# bash completion for weir
_weir() {
  local cur=\${COMP_WORDS[COMP_CWORD]} place= option= word i
  COMPREPLY=()
  [[ $cur == = ]] && cur=
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    [[ $word == = ]] && continue
    if [[ $option ]]; then
      option=
      continue
    fi
    case "$place:$word" in
${places.flatMap(steps).join('\n')}
    esac
  done
  case "$place:$option" in
${places.flatMap(values).join('\n')}
  *:?*) ;;
${places.map(words).join('\n')}
  esac
}
complete -F _weir weir
`;

/** Which words lead from a place to another, and which take the next word as their value. */
function steps({ name, commands, options }: Place): string[] {
  const into = commands.map(({ name: word }) => {
    const next = name === '' ? word : `${name}.${word}`;
    return `    ${name}:${word}) place=${next} ;;`;
  });
  const taking = options.flatMap(({ value, forms }) => (value ? forms : []));
  if (taking.length === 0) return into;
  return [...into, `    ${taking.map((form) => `${name}:${form}`).join(' | ')}) option=$word ;;`];
}

/** What completes the values of options. */
const values = ({ name, options }: Place): string[] =>
  options.flatMap(({ value, forms }) =>
    value && value.kind !== 'other'
      ? [`  ${forms.map((form) => `${name}:${form}`).join(' | ')}) ${reply(value)} ;;`]
      : [],
  );

function words({ name, commands, options, operand }: Place): string {
  const all = options.flatMap(({ forms }) => forms).join(' ');
  const names = commands.map((command) => command.name);
  const rest: Completed = names.length > 0 ? { kind: 'choices', choices: names } : operand;
  return `  ${name}:)
    if [[ $cur == -* ]]; then
      mapfile -t COMPREPLY < <(compgen -W '${all}' -- "$cur")
    else
      ${reply(rest)}
    fi
    ;;`;
}

function reply(completed: Completed): string {
  switch (completed.kind) {
    case 'files':
      return `compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$cur")`;
    case 'choices':
      return `mapfile -t COMPREPLY < <(compgen -W '${completed.choices.join(' ')}' -- "$cur")`;
    case 'other':
      return ':';
    default:
      return completed satisfies never;
  }
}
