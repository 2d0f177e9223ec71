import {
  expectOperands,
  HELP_OPTION,
  parseOptions,
  type CommandSpec,
  type OptionTable,
} from '../command.ts';
import { UsageError } from '../../errors.ts';
import { optionLines } from '../help.ts';
import { parseDuration } from '../option-values.ts';
import { WHICH_OPTIONS, whichOf, type Which } from './socket-option.ts';

const OPTIONS = {
  wait: {
    type: 'string',
    short: 'w',
    value: 'TIME',
    summary: 'wait no longer than 30s, 15m or 2h; 0s does not wait',
  },
  undo: { type: 'boolean', summary: 'accept clients again' },
  ...WHICH_OPTIONS,
  json: { type: 'boolean', summary: 'print a line of JSON each time' },
  ...HELP_OPTION,
} as const satisfies OptionTable;

export const DRAIN = {
  name: 'drain',
  operands: '',
  summary: 'have a running Weir accept no clients, and wait for the end of\nits flows',
  options: OPTIONS,
} as const satisfies CommandSpec;

export const DRAIN_HELP = `weir drain, after which a running Weir can be stopped without cutting flows

Usage: weir drain [options]

Its inbounds accept no clients, as from a stop on, but no flow is ended: they have as long as they
take. The API and the control socket go on. What is left is printed when it changes. The exit status
is 0 once nothing is left, and 1 when something is after --wait. The drain goes on when this command
ends, and the running configuration stays as it is until --undo or a stop.

Options:
${optionLines(OPTIONS)}A tun inbound goes on serving until the stop, which ends its flows.
`;

export interface DrainArguments extends Which {
  readonly help: boolean;
  /** Milliseconds to wait; Infinity by default. */
  readonly waitMs: number;
  readonly undo: boolean;
  readonly json: boolean;
}

/** Parses the arguments of `weir drain`. @throws {UsageError} for invalid arguments */
export function parseDrain(argv: readonly string[]): DrainArguments {
  const { values, positionals } = parseOptions(argv, OPTIONS);
  const { help = false, wait, undo = false, json = false } = values;
  if (!help) expectOperands(DRAIN.name, positionals);
  if (undo && wait !== undefined) throw new UsageError('--undo waits for nothing');
  const waitMs = wait === undefined ? Infinity : parseDuration('--wait', wait) * 1000;
  return { help, waitMs, undo, json, ...whichOf(values) };
}
