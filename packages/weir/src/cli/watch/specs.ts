import { flag, option, HELP_OPTION, type CommandSpec } from '../command.ts';
import {
  READ_ONLY_OPTION,
  RUNNING_OPTIONS,
  TLS_OPTIONS,
  SOCKET_OPTION,
} from '../running-options.ts';
import { PART_NAMES } from '@weir/watch/diagnose/diagnosis';

/*
 * Names, operands and options of the commands that show and steer a running Weir.
 * Help, completions and the manual page are made of them without loading a command.
 */

export const DASHBOARD = {
  name: 'dashboard',
  operands: '',
  summary: 'show and steer a running Weir in a browser',
  options: {
    ...RUNNING_OPTIONS,
    ...TLS_OPTIONS,
    ...READ_ONLY_OPTION,
    usage: option('FILE', 'the database of weir usage; where it is recorded unless given'),
    ...HELP_OPTION,
  },
} as const satisfies CommandSpec;

export const TOP = {
  name: 'top',
  operands: '',
  summary: 'show and steer a running Weir in this terminal',
  options: {
    ...RUNNING_OPTIONS,
    listen: {
      ...RUNNING_OPTIONS.listen,
      summary: 'has no effect here: taken because the other programs that watch take it',
    },
    ...READ_ONLY_OPTION,
    ...HELP_OPTION,
  },
} as const satisfies CommandSpec;

export const METRICS = {
  name: 'metrics',
  operands: '',
  summary: 'serve metrics of a running Weir to Prometheus',
  options: {
    ...RUNNING_OPTIONS,
    listen: {
      ...RUNNING_OPTIONS.listen,
      summary:
        'where to listen: an address of this host (default: 127.0.0.1:19347),\n' +
        'the path of a unix socket, or with TLS any address',
    },
    ...TLS_OPTIONS,
    'token-file': option(
      'FILE',
      'a file with a token that scrapes need (credentials_file of Prometheus)',
    ),
    users: flag('series of each account as well, with its name as a label'),
    once: flag('print the metrics and exit'),
    ...HELP_OPTION,
  },
} as const satisfies CommandSpec;

/** The default of `--listen`; mihomo's port 9090 is that of Weir's own API. */
export const CLASH_LISTEN = '127.0.0.1:9097';

export const CLASH_API = {
  name: 'clash-api',
  operands: '',
  summary: "serve a running Weir to dashboards made for mihomo's controller",
  options: {
    ...RUNNING_OPTIONS,
    listen: {
      ...RUNNING_OPTIONS.listen,
      summary:
        `where to listen: an address of this host (default: ${CLASH_LISTEN}),\n` +
        'the path of a unix socket, or with TLS any address',
    },
    ...TLS_OPTIONS,
    'clash-secret-file': option(
      'FILE',
      'a file with the secret that dashboards ask for; without it a new one\n' +
        'is made at each start, and printed',
    ),
    'allow-origin': option(
      'ORIGIN',
      'a page elsewhere that may use it, such as https://board.example; may\n' +
        'be given several times',
      { multiple: true },
    ),
    ui: option('FOLDER', "serve a dashboard's built files below /ui/"),
    ...HELP_OPTION,
  },
} as const satisfies CommandSpec;

export const STANDARD_SECONDS = '10';
export const MAX_SECONDS = 30;

export const DIAGNOSE = {
  name: 'diagnose',
  operands: '',
  summary: 'write an archive to attach to a report; asks before it writes',
  options: {
    output: option('FILE', 'the archive, a new file; weir-diagnose-TIME.tar.gz here unless given', {
      short: 'o',
    }),
    config: RUNNING_OPTIONS.config,
    ...SOCKET_OPTION,
    without: option(
      'PART',
      `leave this out; repeatable: ${PART_NAMES.slice(0, 4).join(', ')},\n${PART_NAMES.slice(4).join(', ')}`,
      { choices: PART_NAMES, multiple: true },
    ),
    seconds: option(
      'SECONDS',
      `how long to record the processor, 1 to ${MAX_SECONDS}; ${STANDARD_SECONDS} unless given`,
    ),
    busy: flag('record it also with more than 500 flows, which stops them for some 0.1 s'),
    yes: flag('write it without asking', { short: 'y' }),
    ...HELP_OPTION,
  },
} as const satisfies CommandSpec;
