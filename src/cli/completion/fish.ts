import type { Completed, Place, PlaceOption } from './places.ts';

/** A script for fish, which is to be sourced or put into its folder of completions. */
export const fishScript = (places: readonly Place[]): string => `# fish completion for weir
function __weir_place
    set -l place ''
    set -l option ''
    for word in (commandline -opc)[2..]
        if test -n "$option"
            set option ''
            continue
        end
        switch "$place:$word"
${places.flatMap(steps).join('\n')}
        end
    end
    echo "at:$place"
end
complete -c weir -f
${places.flatMap(lines).join('\n')}
`;

function steps({ name, commands, options }: Place): string[] {
  const into = commands.map(({ name: word }) => {
    const next = name === '' ? word : `${name}.${word}`;
    return `            case '${name}:${word}'\n                set place ${next}`;
  });
  const taking = options.flatMap(({ value, forms }) => (value ? forms : []));
  if (taking.length === 0) return into;
  const cases = taking.map((form) => `'${name}:${form}'`).join(' ');
  return [...into, `            case ${cases}\n                set option $word`];
}

function lines(place: Place): string[] {
  const at = `complete -c weir -n 'test (__weir_place) = at:${place.name}'`;
  const commands = place.commands.map(
    ({ name, summary }) => `${at} -a ${name} -d ${quoted(summary)}`,
  );
  const options = place.options.map((option) => `${at} ${optionLine(option)}`);
  return [...commands, ...operandLines(at, place), ...options];
}

function operandLines(at: string, { operand }: Place): string[] {
  if (operand.kind === 'files') return [`${at} -F`];
  return operand.kind === 'choices' ? [`${at} -a ${quoted(operand.choices.join(' '))}`] : [];
}

function optionLine({ name, short, value, summary }: PlaceOption): string {
  const forms = short === undefined ? `-l ${name}` : `-s ${short} -l ${name}`;
  return `${forms}${value ? ` ${requirement(value)}` : ''} -d ${quoted(summary)}`;
}

function requirement(value: Completed): string {
  switch (value.kind) {
    case 'files':
      return '-r -F';
    case 'choices':
      return `-x -a ${quoted(value.choices.join(' '))}`;
    case 'other':
      return '-x';
    default:
      return value satisfies never;
  }
}

const quoted = (text: string): string => `'${text.replaceAll(/[\\']/g, String.raw`\$&`)}'`;
