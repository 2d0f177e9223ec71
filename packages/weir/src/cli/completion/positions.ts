import type { CommandSpec, OptionSpec, OptionTable } from '../command.ts';

/** The completion of a value or an operand. */
export type Completed =
  | { readonly kind: 'files' }
  | { readonly kind: 'choices'; readonly choices: readonly string[] }
  /** Names of the running Weir: for the n-th operand, of the kind `NAMES[n]`. */
  | { readonly kind: 'names' }
  /** Values that the shell cannot complete. */
  | { readonly kind: 'other' };

export interface PositionOption {
  /** The forms of the option: `--config`, and `-c` if it has a short form. */
  readonly forms: readonly string[];
  readonly name: string;
  readonly short: string | undefined;
  /** Completion of the value; `undefined` for an option without one. */
  readonly value: Completed | undefined;
  readonly summary: string;
}

/** A position in a command line: after the words of a command, or before any. */
export interface CommandPosition {
  /** The words of its command joined by a dot; empty before any command. */
  readonly name: string;
  readonly commands: readonly { readonly name: string; readonly summary: string }[];
  readonly options: readonly PositionOption[];
  readonly operand: Completed;
}

/** All positions of a command line. Before any command the options are those of the default one, `commands[0]`. */
export function positionsOf(commands: readonly CommandSpec[]): CommandPosition[] {
  const [first] = commands;
  const top = positionOf('', first?.options ?? {}, '', commands);
  return [top, ...commands.flatMap(positionsOfCommand)];
}

function positionsOfCommand({
  name,
  options,
  operands,
  commands = [],
}: CommandSpec): CommandPosition[] {
  const below = commands.map((command) =>
    positionOf(`${name}.${command.name}`, { ...options, ...command.options }, command.operands, []),
  );
  return [positionOf(name, options, commands.length > 0 ? '' : operands, commands), ...below];
}

const positionOf = (
  name: string,
  options: OptionTable,
  operands: string,
  commands: readonly Pick<CommandSpec, 'name' | 'summary'>[],
): CommandPosition => ({
  name,
  commands: commands.map((command) => ({ name: command.name, summary: oneLine(command.summary) })),
  options: Object.entries(options).map(optionOf),
  operand: completedBy(operands),
});

const optionOf = ([name, option]: [string, OptionSpec]): PositionOption => ({
  forms: option.short === undefined ? [`--${name}`] : [`--${name}`, `-${option.short}`],
  name,
  short: option.short,
  value: option.type === 'string' ? valueOf(option) : undefined,
  summary: oneLine(option.summary),
});

const valueOf = ({ choices, value = '' }: OptionSpec): Completed =>
  choices ? { kind: 'choices', choices } : completedBy(value);

/**
 * The operands of `ctl pick` in order, as kinds of `weir ctl routes --names`. The names are
 * untrusted: scripts never let a shell expand them, and quote them on the command line.
 */
export const NAMES = ['groups', 'targets'] as const;

/** Derives the completion from a placeholder: `FILE`, or `bash|zsh|fish` for choices. */
function completedBy(word: string): Completed {
  if (/^\[?(FILE|PATH|SOCKET|WHERE)\b/.test(word)) return { kind: 'files' };
  if (word === 'GROUP TARGET') return { kind: 'names' };
  return word.includes('|') ? { kind: 'choices', choices: word.split('|') } : { kind: 'other' };
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ');
