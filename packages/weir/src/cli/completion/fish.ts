import { NAMES, type Completed, type CommandPosition, type PositionOption } from './positions.ts';

/** A completion script for fish, to be sourced or put into its directory of completions. */
export const fishScript = (
  positions: readonly CommandPosition[],
): string => `# fish completion for weir
function __weir_place
    set -l place ''
    set -l option ''
    set -l operands 0
    for word in (commandline -opc)[2..]
        if test -n "$option"
            set option ''
            continue
        end
        switch "$place:$word"
${positions.flatMap(steps).join('\n')}
            case '*:-*'
            case '*'
                set operands (math $operands + 1)
        end
    end
    if set -q argv[1]
        echo "at:$place:$operands"
    else
        echo "at:$place"
    end
end
function __weir_names
    set -l api
    set -l option ''
    for word in (commandline -opc)[2..]
        if test -n "$option"
            set -a api $option (string replace -r '^~/' -- "$HOME/" $word)
            set option ''
            continue
        end
        switch $word
            case --api --secret-file
                set option $word
            case '--api=*' '--secret-file=*'
                set -a api $word
        end
    end
    command weir ctl $api routes --names $argv[1] 2>/dev/null </dev/null
end
complete -c weir -f
${positions.flatMap(lines).join('\n')}
`;

function steps({ name, commands, options }: CommandPosition): string[] {
  const into = commands.map(({ name: word }) => {
    const next = name === '' ? word : `${name}.${word}`;
    return `            case '${name}:${word}'\n                set place ${next}`;
  });
  const taking = options.flatMap(({ value, forms }) => (value ? forms : []));
  if (taking.length === 0) return into;
  const cases = taking.map((form) => `'${name}:${form}'`).join(' ');
  return [...into, `            case ${cases}\n                set option $word`];
}

function lines(position: CommandPosition): string[] {
  const at = `complete -c weir -n 'test (__weir_place) = at:${position.name}'`;
  const commands = position.commands.map(
    ({ name, summary }) => `${at} -a ${name} -d ${quoted(summary)}`,
  );
  const options = position.options.map((option) => `${at} ${optionLine(option)}`);
  return [...commands, ...operandLines(at, position), ...options];
}

function operandLines(at: string, { name, operand }: CommandPosition): string[] {
  if (operand.kind === 'files') return [`${at} -F`];
  if (operand.kind === 'names') {
    return NAMES.map(
      (kind, index) =>
        `complete -c weir -n 'test (__weir_place count) = at:${name}:${index}' -a '(__weir_names ${kind})'`,
    );
  }
  return operand.kind === 'choices' ? [`${at} -a ${quoted(operand.choices.join(' '))}`] : [];
}

function optionLine({ name, short, value, summary }: PositionOption): string {
  const forms = short === undefined ? `-l ${name}` : `-s ${short} -l ${name}`;
  return `${forms}${value ? ` ${requirement(value)}` : ''} -d ${quoted(summary)}`;
}

function requirement(value: Completed): string {
  switch (value.kind) {
    case 'files':
      return '-r -F';
    case 'choices':
      return `-x -a ${quoted(value.choices.join(' '))}`;
    // There are no options with such values.
    case 'names':
    case 'other':
      return '-x';
    default:
      return value satisfies never;
  }
}

const quoted = (text: string): string => `'${text.replaceAll(/[\\']/g, String.raw`\$&`)}'`;
