import type { CommandSpec, OptionSpec, OptionTable } from '../command.ts';

/** What completes a value or an operand. */
export type Completed =
  | { readonly kind: 'files' }
  | { readonly kind: 'choices'; readonly choices: readonly string[] }
  /** Names that the running Weir has: those of `NAMES[n]` for the n-th operand. */
  | { readonly kind: 'names' }
  /** Nothing that the shell could know. */
  | { readonly kind: 'other' };

export interface PlaceOption {
  /** `--config`, and `-c` where there is one. */
  readonly forms: readonly string[];
  readonly name: string;
  readonly short: string | undefined;
  /** `undefined` for an option without a value. */
  readonly value: Completed | undefined;
  readonly summary: string;
}

/** A place in a command line: behind the words of a command, or behind none. */
export interface Place {
  /** The words of its command joined by a dot; empty for none. */
  readonly name: string;
  readonly commands: readonly { readonly name: string; readonly summary: string }[];
  readonly options: readonly PlaceOption[];
  readonly operand: Completed;
}

/** All places of a command line. Behind no command the options are those of the default one, `commands[0]`. */
export function placesOf(commands: readonly CommandSpec[]): Place[] {
  const [first] = commands;
  const top = placeOf('', first?.options ?? {}, '', commands);
  return [top, ...commands.flatMap(placesOfCommand)];
}

function placesOfCommand({ name, options, operands, commands = [] }: CommandSpec): Place[] {
  const below = commands.map((command) =>
    placeOf(`${name}.${command.name}`, { ...options, ...command.options }, command.operands, []),
  );
  return [placeOf(name, options, commands.length > 0 ? '' : operands, commands), ...below];
}

const placeOf = (
  name: string,
  options: OptionTable,
  operands: string,
  commands: readonly Pick<CommandSpec, 'name' | 'summary'>[],
): Place => ({
  name,
  commands: commands.map((command) => ({ name: command.name, summary: oneLine(command.summary) })),
  options: Object.entries(options).map(optionOf),
  operand: completedBy(operands),
});

const optionOf = ([name, option]: [string, OptionSpec]): PlaceOption => ({
  forms: option.short === undefined ? [`--${name}`] : [`--${name}`, `-${option.short}`],
  name,
  short: option.short,
  value: option.type === 'string' ? valueOf(option) : undefined,
  summary: oneLine(option.summary),
});

const valueOf = ({ choices, value = '' }: OptionSpec): Completed =>
  choices ? { kind: 'choices', choices } : completedBy(value);

/**
 * What `ctl pick` is given, in order, as `weir ctl routes --names` calls it. The names come from files of
 * others: a script never lets a shell expand them, and quotes them before they reach a command line.
 */
export const NAMES = ['groups', 'targets'] as const;

/** What a value is called says what it is: `FILE`, or `bash|zsh|fish` for one of few. */
function completedBy(word: string): Completed {
  if (/^\[?(FILE|PATH|SOCKET|WHERE)\b/.test(word)) return { kind: 'files' };
  if (word === 'GROUP TARGET') return { kind: 'names' };
  return word.includes('|') ? { kind: 'choices', choices: word.split('|') } : { kind: 'other' };
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ');
