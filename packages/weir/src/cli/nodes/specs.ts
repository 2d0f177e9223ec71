import { flag, option, HELP_OPTION, type CommandSpec, type OptionTable } from '../command.ts';
import { SOCKET_OPTION } from '../running-options.ts';
import { CONFIG_OPTION } from '../run/command.ts';
import {
  DEFAULT_PROBE_URL,
  DEFAULT_TOTAL_SECONDS,
  DEFAULT_TRIES,
  DEFAULT_TRY_SECONDS,
} from '@weir/nodes/probe';

/*
 * Names, operands and options of the commands for nodes.
 * Help, completions and the manual page are made of them without loading a command.
 */

export const REPORTS = ['text', 'json'] as const;

export const IMPORT = {
  name: 'import',
  operands: 'FILE',
  summary: "print a configuration made of another program's file",
  options: {
    subscribe: flag('print a subscribe file: servers as nodes, rules as groups'),
    outbounds: flag('print the servers alone, as the nodes of a subscribe file'),
    output: option('FOLDER', 'write weir.toml with picks, and nodes.toml, to this folder', {
      short: 'o',
    }),
    geoip: option('FILE', 'the geoip.dat for rules that need one'),
    geosite: option('FILE', 'the geosite.dat for rules that need one'),
    'user-agent': option('TEXT', 'what a URL is asked as; some providers answer by it'),
    report: option('FORMAT', 'how to say what became of each part: text (the default) or json', {
      choices: REPORTS,
    }),
    'report-file': option('FILE', 'write that to a file, instead of to standard error'),
    force: flag(
      'replace files that exist, and succeed even if flows are dropped\nsince their target could not be imported',
    ),
    ...HELP_OPTION,
  },
} as const satisfies CommandSpec;

/** Options of commands that change nodes. */
const CHANGE_OPTIONS = {
  'dry-run': flag('show what would change, and change nothing'),
  verbose: flag('name the nodes'),
  ...SOCKET_OPTION,
} as const satisfies OptionTable;

const FETCH_FORCE = {
  force: flag('accept a list that lacks most of the nodes'),
} as const satisfies OptionTable;

export const SUBSCRIBE = {
  name: 'subscribe',
  operands: 'COMMAND',
  summary: 'keep the nodes of subscriptions up to date',
  options: {
    config: {
      ...CONFIG_OPTION.config,
      summary: 'the configuration; its [subscribe].path is where nodes go',
    },
    json: flag('print JSON'),
    ...HELP_OPTION,
  },
  commands: [
    {
      name: 'add',
      operands: 'NAME URL',
      summary: 'add a source and its nodes; URL may be - for standard input',
      options: {
        ...CHANGE_OPTIONS,
        ...FETCH_FORCE,
        outbound: option('TAG', 'fetch through this outbound'),
        'user-agent': option('TEXT', 'what Weir says it is; providers choose the format by it'),
        interval: option(
          'TIME',
          'the time between updates, such as 12h; otherwise what the\nprovider asks for, or a day',
        ),
        'max-size': option('SIZE', 'the largest answer, such as 2M (4M)'),
        timeout: option('TIME', 'how long a fetch may take (30s)'),
      },
    },
    {
      name: 'update',
      operands: '[NAME...]',
      summary: 'fetch sources again and take over what has changed',
      options: {
        ...CHANGE_OPTIONS,
        ...FETCH_FORCE,
        all: flag('all sources, which is the default'),
        'if-due': flag('only sources whose interval is over'),
      },
    },
    {
      name: 'list',
      operands: '',
      summary: 'the sources, with the age of their nodes and the quota',
      options: {},
    },
    {
      name: 'remove',
      operands: 'NAME',
      summary: 'remove a source with its nodes',
      options: {
        ...CHANGE_OPTIONS,
        force: flag('keep nodes that are in use as your own'),
      },
    },
  ],
} as const satisfies CommandSpec;

export const PROBE = {
  name: 'probe',
  operands: '[TAG...]',
  summary: 'measure outbounds: connection, handshake, first byte',
  options: {
    all: flag('every outbound but blackholes', { short: 'a' }),
    config: {
      ...CONFIG_OPTION.config,
      summary: 'the configuration that has the outbounds; unless given, that\nof the running Weir',
    },
    ...SOCKET_OPTION,
    url: option('URL', `what is asked for, by HEAD; unless given,\n${DEFAULT_PROBE_URL}`),
    tries: option(
      'N',
      `tries of each outbound, one after the other; ${DEFAULT_TRIES} unless given`,
      { short: 'n' },
    ),
    bytes: option(
      'BYTES',
      'measure the throughput of as much of the URL as well; without\n' +
        '--url, of a document by Cloudflare',
    ),
    timeout: option('SECONDS', `limit of one try; ${DEFAULT_TRY_SECONDS} unless given`),
    'max-time': option('SECONDS', `limit of all; ${DEFAULT_TOTAL_SECONDS} unless given`),
    json: flag('print an object a line for each outbound'),
    ...HELP_OPTION,
  },
} as const satisfies CommandSpec;

export const DEFAULT_SIZE = '64M';
export const DEFAULT_SECONDS = '60';

export const FETCH = {
  name: 'fetch',
  operands: 'URL',
  summary: 'fetch a document, through an outbound if one is named',
  options: {
    outbound: option('TAG', 'go through this outbound or balancer; directly unless given'),
    config: {
      ...CONFIG_OPTION.config,
      summary: 'the configuration that has the outbound; unless given, that\nof the running Weir',
    },
    ...SOCKET_OPTION,
    output: option('FILE', 'write the body to FILE', { short: 'o' }),
    include: flag('print the status and the headers before the body', { short: 'i' }),
    head: flag('ask for the headers alone, by HEAD', { short: 'I' }),
    header: option('LINE', "send this header, as in 'Accept: text/plain'; repeatable", {
      short: 'H',
      multiple: true,
    }),
    'user-agent': option('TEXT', 'send this User-Agent in place of weir/VERSION', { short: 'A' }),
    'max-size': option(
      'BYTES',
      `limit of the decoded body, such as 500k; ${DEFAULT_SIZE} unless given`,
    ),
    'max-time': option('SECONDS', `limit of the whole request; ${DEFAULT_SECONDS} unless given`),
    ...HELP_OPTION,
  },
} as const satisfies CommandSpec;
