import {
  expectOperands,
  HELP_OPTION,
  parseOptions,
  type CommandSpec,
  type OptionTable,
} from '../command.ts';
import { PART_NAMES, type PartName } from '../../diagnose/diagnosis.ts';
import { SOCKET_OPTION } from '../control/socket-option.ts';
import { optionLines } from '../help.ts';
import { choiceOf, parseCount } from '../option-values.ts';
import { RUNNING_OPTIONS } from '../running-options.ts';

const STANDARD_SECONDS = '10';
const MAX_SECONDS = 30;

const OPTIONS = {
  output: {
    type: 'string',
    short: 'o',
    value: 'FILE',
    summary: 'the archive, a new file; weir-diagnose-TIME.tar.gz here unless given',
  },
  config: RUNNING_OPTIONS.config,
  ...SOCKET_OPTION,
  without: {
    type: 'string',
    value: 'PART',
    choices: PART_NAMES,
    multiple: true,
    summary: `leave this out; repeatable: ${PART_NAMES.slice(0, 4).join(', ')},\n${PART_NAMES.slice(4).join(', ')}`,
  },
  seconds: {
    type: 'string',
    value: 'SECONDS',
    summary: `how long to record the processor, 1 to ${MAX_SECONDS}; ${STANDARD_SECONDS} unless given`,
  },
  busy: {
    type: 'boolean',
    summary: 'record it also with more than 500 flows, which stops them for some 0.1 s',
  },
  yes: { type: 'boolean', short: 'y', summary: 'write it without asking' },
  ...HELP_OPTION,
} as const satisfies OptionTable;

export const DIAGNOSE = {
  name: 'diagnose',
  operands: '',
  summary: 'write an archive to attach to a report; asks before it writes',
  options: OPTIONS,
} as const satisfies CommandSpec;

export const DIAGNOSE_HELP = `weir diagnose, which writes an archive to attach to a report

Usage: weir diagnose [options]

Collects the state of a running Weir, its versions, its configuration with secrets starred, the end
of its log, ten seconds of a processor profile and a summary of its memory. Says what is inside and
how large it is, and asks before it writes. What cannot be had is listed as missing. Nothing is sent
anywhere.

Options:
${optionLines(OPTIONS)}`;

export interface DiagnoseArguments {
  readonly help: boolean;
  readonly output: string | undefined;
  readonly config: string | undefined;
  readonly socket: string | undefined;
  readonly without: ReadonlySet<PartName>;
  readonly seconds: number;
  readonly busy: boolean;
  readonly yes: boolean;
}

/** Parses the arguments of `weir diagnose`. @throws {UsageError} for invalid arguments */
export function parseDiagnose(argv: readonly string[]): DiagnoseArguments {
  const { values, positionals } = parseOptions(argv, OPTIONS);
  const { help = false, output, config, socket, without = [], busy = false, yes = false } = values;
  if (!help) expectOperands(DIAGNOSE.name, positionals);
  return {
    help,
    output,
    config,
    socket,
    without: new Set(without.map((part) => choiceOf('without', PART_NAMES, part))),
    seconds: parseCount('--seconds', values.seconds ?? STANDARD_SECONDS, MAX_SECONDS),
    busy,
    yes,
  };
}
