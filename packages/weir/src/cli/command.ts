import { parseArgs } from 'node:util';
import { codeOf, hintsOf, messageOf, UsageError, WeirError } from '@weir/base';
import { printableLines } from '@weir/base/printable';
import { suggestion } from '@weir/proxy/schema';

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

/** The description of a command, for help, completion and parsing. */
export interface CommandSpec {
  readonly name: string;
  /** Operands as in a usage line: `HOST:PORT`; empty for none. */
  readonly operands: string;
  /** Text for the list of commands in the help, one line or several. */
  readonly summary: string;
  readonly options: OptionTable;
  /** Subcommands of the command, if there are any. */
  readonly commands?: readonly Omit<CommandSpec, 'commands'>[];
}

/** A command of `weir`. */
export interface Command extends CommandSpec {
  /**
   * Runs the command.
   * @returns the exit status when the process should end
   * @throws {UsageError}
   */
  run(argv: readonly string[], io: CommandIo): Promise<number>;
}

/**
 * Runs the work of a command. A WeirError is written to standard error with its hints, as
 * `weir NAME: …`; the exit status is then 1.
 * @throws {UsageError}
 */
export async function reportErrors(
  name: string,
  { stderr }: Pick<CommandIo, 'stderr'>,
  work: () => Promise<number>,
): Promise<number> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof WeirError) || error instanceof UsageError) throw error;
    const hints = hintsOf(error).map((hint) => `hint: ${printableLines(hint)}\n`);
    stderr.write(`${printableLines(`weir ${name}: ${error.message}`)}\n${hints.join('')}`);
    return 1;
  }
}

/** The option that every command has. */
export const HELP_OPTION = {
  help: { type: 'boolean', short: 'h', summary: 'print this text and exit' },
} as const satisfies OptionTable;

/** Parses options with `parseArgs`: strict, positionals allowed. */
export function parseOptions<T extends OptionTable>(argv: readonly string[], options: T) {
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
 * Checks the number of operands. @param usage the operands' placeholders, separated by spaces
 * @throws {UsageError} for another number
 */
export function expectOperands(name: string, operands: readonly string[], usage = ''): void {
  const count = usage === '' ? 0 : usage.split(' ').length;
  if (operands.length < count) throw new UsageError(`${name} needs ${usage}`);
  const extra = operands[count];
  if (extra !== undefined) throw new UsageError(`unexpected argument ${JSON.stringify(extra)}`);
}

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
export function chooseSubcommand<T extends Omit<CommandSpec, 'commands'>>(
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
