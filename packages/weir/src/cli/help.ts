import type { CommandSpec, OptionSpec, OptionTable } from './command.ts';

type Row = readonly [left: string, right: string];

const widthOf = (rows: readonly Row[]): number => Math.max(0, ...rows.map(([left]) => left.length));

/** Formats lines in two columns, as in ` -h, --help print this text and exit`. */
export function columns(rows: readonly Row[], width = widthOf(rows)): string {
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
  columns(commandRows(commands));

/** The options of each subcommand that has any, below a title and followed by an empty line. */
export const subcommandOptionLines = (commands: readonly Omit<CommandSpec, 'commands'>[]): string =>
  commands
    .filter(({ options }) => Object.keys(options).length > 0)
    .map(({ name, options }) => `Options of ${name}:\n${optionLines(options)}\n`)
    .join('');

const commandRows = (commands: readonly Omit<CommandSpec, 'commands'>[]): readonly Row[] =>
  commands.map(({ name, operands, summary }) => [
    operands === '' ? name : `${name} ${operands}`,
    summary,
  ]);

/** A topic of the help: commands for one task. */
export interface CommandTopic {
  readonly title: string;
  readonly commands: readonly CommandSpec[];
}

/** All commands below the titles of their topics, in columns of equal width. */
export function topicLines(topics: readonly CommandTopic[]): string {
  const width = widthOf(topics.flatMap(({ commands }) => commandRows(commands)));
  return topics
    .map(({ title, commands }) => `${title}:\n${columns(commandRows(commands), width)}`)
    .join('\n');
}

/** An option as in the help: `-c, --config FILE`, padded if there is no short form. */
export function optionForm(name: string, { short, value }: OptionSpec): string {
  const long = value === undefined ? `--${name}` : `--${name} ${value}`;
  return short === undefined ? `    ${long}` : `-${short}, ${long}`;
}
