import { flag, option, HELP_OPTION, type CommandSpec, type OptionTable } from '../command.ts';
import { WHICH_OPTIONS } from '../running-options.ts';

/*
 * Name, operands and options of `weir usage`.
 * Help, completions and the manual page are made of them without loading the command.
 */

/** Mirrors `USAGE_DIMENSIONS`, which help and completions do not load. */
export const BY = ['user', 'inbound', 'outbound', 'source', 'host'] as const;

/** The options of `weir usage` without a command. */
export const SHOW_OPTIONS = {
  by: option('WHAT', 'the sums of each user (the default), inbound, outbound, source\nor host', {
    choices: BY,
  }),
  since: option('TIME', 'from when on; this month unless given'),
  until: option('TIME', 'to when; now unless given'),
  json: flag('print one line of JSON'),
  csv: flag('print comma-separated values'),
} as const satisfies OptionTable;

export const RECORD_OPTIONS = {
  ...WHICH_OPTIONS,
  interval: option('SECONDS', 'the most that a Weir that is killed loses; 1 unless given'),
  'keep-hours': option('DAYS', 'how long the sums of hours are kept; 400 unless given'),
  'keep-days': option('DAYS', 'how long the sums of days are kept; 1100 unless given'),
} as const satisfies OptionTable;

export const USAGE = {
  name: 'usage',
  operands: '[record]',
  summary: 'print who used how much, or record it',
  options: {
    ...SHOW_OPTIONS,
    database: option(
      'FILE',
      'the database; unless given, /var/lib/weir/usage.db for root and\n' +
        'the service, and ~/.local/state/weir/usage.db for other users',
    ),
    ...HELP_OPTION,
  },
  commands: [
    {
      name: 'record',
      operands: '',
      summary: 'record what a running Weir counts, until a signal stops it',
      options: RECORD_OPTIONS,
    },
  ],
} as const satisfies CommandSpec;
