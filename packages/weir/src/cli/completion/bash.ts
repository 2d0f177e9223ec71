import { NAMES, type Completed, type CommandPosition } from './positions.ts';

/** A completion script to be sourced by bash. */
export const bashScript = (
  positions: readonly CommandPosition[],
): string => `# bash completion for weir
${namesFunction}_weir() {
  local cur place= option= word i glue= rest operands=0
  local -a line=() api=()
  COMPREPLY=()
  # Readline splits words at colons and equals signs; those behind an option stay apart.
  rest=\${COMP_LINE#*"\${COMP_WORDS[0]}"}
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if ((i > 1)) && [[ $rest != [[:blank:]]* && ($glue || ($word == [:=]* && \${line[-1]} != [-=]*)) ]]; then
      line[-1]+=$word
    else
      line+=("$word")
    fi
    glue=
    [[ $word == *[:=] && \${line[-1]} != [-=]* ]] && glue=1
    rest=\${rest#*"$word"}
  done
  cur=\${line[-1]}
  unset 'line[-1]'
  [[ $cur == = ]] && cur=
  for word in "\${line[@]}"; do
    [[ $word == = ]] && continue
    if [[ $option ]]; then
      case $option in --api | --secret-file) api+=("$option" "\${word/#\\~\\//"$HOME"/}") ;; esac
      option=
      continue
    fi
    case "$place:$word" in
${positions.flatMap(steps).join('\n')}
    *:-*) ;;
    *) ((++operands)) ;;
    esac
  done
  case "$place:$option" in
${positions.flatMap(values).join('\n')}
  *:?*) ;;
${positions.map(words).join('\n')}
  esac
  # What precedes the last of them stays on the line.
  if [[ $cur == *[:=]* && $cur != [\\'\\"]* ]]; then
    rest=\${cur%"\${cur##*[:=]}"}
    COMPREPLY=("\${COMPREPLY[@]#"$rest"}")
  fi
}
complete -F _weir weir
`;

/**
 * The shell function that completes names: `_weir_names KIND TYPED [OPTION...]`. Omits names that
 * cannot be quoted in the style that the word begins with.
 */
const namesFunction = `_weir_names() {
  local kind=$1 typed=$2 name quote=
  local -a names=()
  shift 2
  case $typed in
  [\\'\\"]*)
    quote=\${typed:0:1}
    typed=\${typed:1}
    ;;
  esac
  [[ $quote == \\' ]] || typed=\${typed//\\\\/}
  mapfile -t names < <(command weir ctl "$@" routes --names "$kind" 2>/dev/null </dev/null)
  for name in "\${names[@]}"; do
    [[ $name == "$typed"* ]] || continue
    case $quote in
    \\') [[ $name == *[\\'\\!]* ]] || COMPREPLY+=("$name") ;;
    \\") [[ $name == *[\\"\\$\\\`\\\\\\!]* ]] || COMPREPLY+=("$name") ;;
    *)
      printf -v name %q "$name"
      COMPREPLY+=("$name")
      ;;
    esac
  done
}
`;

/** Cases for words that lead to another position, and for options whose value is the next word. */
function steps({ name, commands, options }: CommandPosition): string[] {
  const into = commands.map(({ name: word }) => {
    const next = name === '' ? word : `${name}.${word}`;
    return `    ${name}:${word}) place=${next} ;;`;
  });
  const taking = options.flatMap(({ value, forms }) => (value ? forms : []));
  if (taking.length === 0) return into;
  return [...into, `    ${taking.map((form) => `${name}:${form}`).join(' | ')}) option=$word ;;`];
}

/** Cases that complete the values of options. */
const values = ({ name, options }: CommandPosition): string[] =>
  options.flatMap(({ value, forms }) =>
    value && value.kind !== 'other'
      ? [`  ${forms.map((form) => `${name}:${form}`).join(' | ')}) ${reply(value)} ;;`]
      : [],
  );

function words({ name, commands, options, operand }: CommandPosition): string {
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
    case 'names':
      return `case $operands in
${NAMES.map((kind, index) => `      ${index}) _weir_names ${kind} "$cur" "\${api[@]}" ;;`).join('\n')}
      esac`;
    case 'other':
      return ':';
    default:
      return completed satisfies never;
  }
}
