import { parseArgs } from 'node:util';
import { UsageError, WeirError, codeOf, hintsOf, messageOf } from '@weir/base';
import { printableLines } from '@weir/base/printable';
import { suggestion } from '@weir/proxy/schema';
import { once } from 'node:events';

/** The output and the environment of a command. */
export interface CommandIo {
  readonly stdout: NodeJS.WritableStream & { readonly isTTY?: boolean };
  readonly stderr: NodeJS.WritableStream;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** An option; its name without dashes is its key in the table. */
export interface OptionSpec {
  readonly type: 'string' | 'boolean';
  /** The letter of its short form. */
  readonly short?: string;
  /** Whether the option may be repeated. */
  readonly multiple?: true;
  /** The placeholder of its value in the help, such as `FILE`. */
  readonly value?: string;
  /** The permitted values, if there are only a few. */
  readonly choices?: readonly string[];
  /** Text for the help, one line or several. */
  readonly summary: string;
}

export type OptionTable = Readonly<Record<string, OptionSpec>>;

/** An option without a value. */
export const flag = (summary: string, more: Pick<OptionSpec, 'short'> = {}) => ({
  type: 'boolean' as const,
  ...more,
  summary,
});

/** The properties of an option with a value that most options lack. */
type OptionDetails = Pick<OptionSpec, 'short' | 'multiple' | 'choices'>;

export interface ValueOption {
  readonly type: 'string';
  readonly value: string;
  readonly summary: string;
}

/** An option with a value, for which the help has a placeholder, such as `FILE`. */
export function option(value: string, summary: string): ValueOption;
export function option<const Details extends OptionDetails>(
  value: string,
  summary: string,
  details: Details,
): ValueOption & Details;
export function option(value: string, summary: string, details: OptionDetails = {}): ValueOption {
  return { type: 'string', value, ...details, summary };
}

/** The description of a command, for help, completion and parsing. */
export interface CommandSpec {
  readonly name: string;
  /** Operands as in a usage line: `HOST:PORT`; empty for none. */
  readonly operands: string;
  /** Text for the list of commands in the help, one line or several. */
  readonly summary: string;
  readonly options: OptionTable;
  /** Subcommands of the command, if there are any. */
  readonly commands?: readonly LeafSpec[];
}

/** A command of `weir`. */
export interface Command extends CommandSpec {
  /**
   * Runs the command.
   * @returns the exit status when the process should end
   * @throws {UsageError}
   */
  run(argv: readonly string[], io: CommandIo): Promise<number>;
  /** Imports what `run` calls, for commands that are imported on demand. */
  readonly load?: () => Promise<Implementation>;
}

/** The function of a command, with what reads its arguments, which throws as the function does. */
export type Implementation = Command['run'] & {
  readonly parse: (argv: readonly string[]) => object | undefined;
};

/**
 * Makes the function of a command, which parses its arguments, prints the help where they ask for it, and otherwise
 * runs `work`. A WeirError is written to standard error with its hints, as `weir NAME: …`; the exit status is then 1.
 * @param name begins the lines of errors
 * @param parse returns `undefined` where the arguments ask for the help
 */
export const commandOf = <T extends object>(
  name: string | ((parsed: T) => string),
  help: string,
  parse: (argv: readonly string[]) => T | undefined,
  work: (parsed: T, io: CommandIo) => Promise<number>,
): Implementation => {
  const run: Command['run'] = async (argv, io) => {
    const parsed = parse(argv);
    if (parsed === undefined) {
      io.stdout.write(help);
      return 0;
    }
    try {
      return await work(parsed, io);
    } catch (error) {
      if (!(error instanceof WeirError) || error instanceof UsageError) throw error;
      const command = typeof name === 'string' ? name : name(parsed);
      const hints = hintsOf(error).map((hint) => `hint: ${printableLines(hint)}\n`);
      io.stderr.write(`${printableLines(`weir ${command}: ${error.message}`)}\n${hints.join('')}`);
      return 1;
    }
  };
  return Object.assign(run, { parse });
};

/** The option that every command has. */
export const HELP_OPTION = {
  help: { type: 'boolean', short: 'h', summary: 'print this text and exit' },
} as const satisfies OptionTable;

/** What an empty value lacks, by the placeholder of its option. */
const NEEDED: Readonly<Record<string, string>> = {
  FILE: 'the name of a file',
  FOLDER: 'the name of a folder',
  PATH: 'the path of a socket',
};

/**
 * Parses options with `parseArgs`: strict, positionals allowed.
 * @throws {UsageError} also for an empty path, unless the arguments ask for the help
 */
export function parseOptions<T extends OptionTable>(argv: readonly string[], options: T) {
  const parsed = parsedStrictly(argv, options);
  if ('help' in parsed.values) return parsed;
  for (const [name, { value = '' }] of Object.entries(options)) {
    const needed = NEEDED[value];
    if (needed !== undefined && (parsed.values as Readonly<Record<string, unknown>>)[name] === '') {
      throw new UsageError(`--${name} needs ${needed}`);
    }
  }
  return parsed;
}

function parsedStrictly<T extends OptionTable>(argv: readonly string[], options: T) {
  try {
    return parseArgs({ args: [...argv], allowPositionals: true, options });
  } catch (error) {
    throw new UsageError(unknownOption(error, options) ?? messageOf(error));
  }
}

/**
 * The error text for an unknown option; Node's own also explains arguments that begin with a dash.
 */
function unknownOption(error: unknown, options: OptionTable): string | undefined {
  if (codeOf(error) !== 'ERR_PARSE_ARGS_UNKNOWN_OPTION') return undefined;
  const name = messageOf(error).split("'")[1];
  if (!name?.startsWith('-')) return undefined;
  const meant = name.startsWith('--') ? suggestion(name.slice(2), Object.keys(options)) : undefined;
  return `unknown option ${name}${meant === undefined ? '' : `; did you mean --${meant}?`}`;
}

/**
 * Checks the number of operands.
 *
 * @param usage the operands' placeholders, separated by spaces
 * @throws {UsageError} for another number
 */
export function expectOperands(name: string, operands: readonly string[], usage = ''): void {
  const count = usage === '' ? 0 : usage.split(' ').length;
  if (operands.length < count) throw new UsageError(`${name} needs ${usage}`);
  const extra = operands[count];
  if (extra !== undefined) throw new UsageError(`unexpected argument ${JSON.stringify(extra)}`);
}

/** A command without subcommands, or a subcommand. */
type LeafSpec = Omit<CommandSpec, 'commands'>;

/** A command that has subcommands. */
type ParentSpec = LeafSpec & { readonly commands: readonly LeafSpec[] };

/** The values of parsed options. */
type ValuesOf<T extends OptionTable> = ReturnType<typeof parseOptions<T>>['values'];

/** Whether a number of operands follows from their placeholders. */
const isFixed = (operands: string): boolean => !/[[.]/.test(operands);

/**
 * Makes the parser of a command without subcommands: it returns `undefined` where the arguments ask for the help, and
 * otherwise what `read` makes of them. Placeholders such as `[SOCKET]` leave the number of operands to `read`.
 */
export const parserOf =
  <S extends LeafSpec, T>(
    { name, operands, options }: S,
    read: (values: ValuesOf<S['options']>, operands: readonly string[]) => T,
  ) =>
  /** @throws {UsageError} for invalid arguments */
  (argv: readonly string[]): T | undefined => {
    const { values, positionals } = parseOptions<S['options']>(argv, options);
    if ('help' in values) return undefined;
    if (isFixed(operands)) expectOperands(name, positionals, operands);
    return read(values, positionals);
  };

/** The options of a command and of all of its subcommands. */
type OptionsOf<S extends ParentSpec> = S['options'] &
  Intersection<S['commands'][number]['options']>;

type Intersection<T> = (T extends unknown ? (each: T) => void : never) extends (
  all: infer All extends OptionTable,
) => void
  ? All
  : never;

/** The values of the options of a command and of all of its subcommands. */
export type SubcommandValues<S extends ParentSpec> = ValuesOf<OptionsOf<S>>;

/**
 * Makes the parser of a command with subcommands, whose options are those of the command and of the chosen one. It
 * returns `undefined` where the arguments ask for the help.
 */
export const subcommandParser =
  <S extends ParentSpec, T>(
    spec: S,
    read: (
      name: S['commands'][number]['name'],
      values: SubcommandValues<S>,
      operands: readonly string[],
    ) => T,
  ) =>
  /** @throws {UsageError} for invalid arguments */
  (argv: readonly string[]): T | undefined => {
    const all = spec.commands.map((command) => command.options);
    const options = Object.assign({}, spec.options, ...all) as OptionsOf<S>;
    const parsed = parseOptions(argv, options);
    if ('help' in parsed.values) return undefined;
    const { chosen, operands } = chooseSubcommand(spec, parsed);
    if (isFixed(chosen.operands)) {
      expectOperands(`${spec.name} ${chosen.name}`, operands, chosen.operands);
    }
    return read(chosen.name, parsed.values, operands);
  };

/** @param where suffix that names the command: ` of ctl` */
export function unknownCommand(
  name: string,
  commands: readonly { readonly name: string }[],
  where = '',
): UsageError {
  const meant = suggestion(
    name,
    commands.map((command) => command.name),
  );
  const hint = meant === undefined ? '' : `; did you mean ${JSON.stringify(meant)}?`;
  return new UsageError(`unknown command ${JSON.stringify(name)}${where}${hint}`);
}

/**
 * Chooses the subcommand of a command line, and returns it with its operands.
 *
 * @param parsed by `parseOptions`, with the options of all subcommands
 * @throws {UsageError} without a subcommand, for an unknown one, and for an option that belongs to another
 */
export function chooseSubcommand<T extends LeafSpec>(
  command: Pick<CommandSpec, 'name' | 'options'> & { readonly commands: readonly T[] },
  { values, positionals }: { readonly values: object; readonly positionals: readonly string[] },
): { readonly chosen: T; readonly operands: readonly string[] } {
  const [name, ...operands] = positionals;
  if (name === undefined) throw new UsageError(`${command.name} needs a command`);
  const chosen = command.commands.find((each) => each.name === name);
  if (!chosen) throw unknownCommand(name, command.commands, ` of ${command.name}`);
  for (const option of Object.keys(values)) {
    if (!(option in command.options) && !(option in chosen.options)) {
      throw new UsageError(`--${option} does not go with ${command.name} ${name}`);
    }
  }
  return { chosen, operands };
}

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

export const commandLines = (commands: readonly LeafSpec[]): string =>
  columns(commandRows(commands));

/** The options of each subcommand that has any, below a title and followed by an empty line. */
export const subcommandOptionLines = (commands: readonly LeafSpec[]): string =>
  commands
    .filter(({ options }) => Object.keys(options).length > 0)
    .map(({ name, options }) => `Options of ${name}:\n${optionLines(options)}\n`)
    .join('');

const commandRows = (commands: readonly LeafSpec[]): readonly Row[] =>
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

/** Waits for SIGINT or SIGTERM. A further signal then ends the process, as by default. */
export async function untilStopped(): Promise<void> {
  const waited = new AbortController();
  const { signal } = waited;
  await Promise.race([once(process, 'SIGINT', { signal }), once(process, 'SIGTERM', { signal })]);
  waited.abort();
}
