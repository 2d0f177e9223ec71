import type { CommandSpec, OptionSpec, OptionTable } from './command.ts';

/** Lines in two columns, as in ` -h, --help print this text and exit`. */
export function columns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(0, ...rows.map(([left]) => left.length));
  return rows
    .map(([left, right]) => {
      const indent = ' '.repeat(width + 4);
      return `  ${left.padEnd(width)}  ${right.replaceAll('\n', `\n${indent}`)}\n`;
    })
    .join('');
}

/** The options of a command, one or more lines each. */
export const optionLines = (options: OptionTable): string =>
  columns(
    Object.entries(options).map(([name, option]) => [optionForm(name, option), option.summary]),
  );

export const commandLines = (commands: readonly Omit<CommandSpec, 'commands'>[]): string =>
  columns(
    commands.map(({ name, operands, summary }) => [
      operands === '' ? name : `${name} ${operands}`,
      summary,
    ]),
  );

/** An option as in the help: `-c, --config FILE`, padded if there is no short form. */
export function optionForm(name: string, { short, value }: OptionSpec): string {
  const long = value === undefined ? `--${name}` : `--${name} ${value}`;
  return short === undefined ? `    ${long}` : `-${short}, ${long}`;
}
