import { HELP_OPTION, type CommandSpec, type OptionTable } from '../command.ts';
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
    subscribe: {
      type: 'boolean',
      summary: 'print a subscribe file: servers as nodes, rules as groups',
    },
    outbounds: {
      type: 'boolean',
      summary: 'print the servers alone, as the nodes of a subscribe file',
    },
    output: {
      type: 'string',
      short: 'o',
      value: 'FOLDER',
      summary: 'write weir.toml with picks, and nodes.toml, to this folder',
    },
    geoip: {
      type: 'string',
      value: 'FILE',
      summary: 'the geoip.dat for rules that need one',
    },
    geosite: {
      type: 'string',
      value: 'FILE',
      summary: 'the geosite.dat for rules that need one',
    },
    'user-agent': {
      type: 'string',
      value: 'TEXT',
      summary: 'what a URL is asked as; some providers answer by it',
    },
    report: {
      type: 'string',
      value: 'FORMAT',
      choices: REPORTS,
      summary: 'how to say what became of each part: text (the default) or json',
    },
    'report-file': {
      type: 'string',
      value: 'FILE',
      summary: 'write that to a file, instead of to standard error',
    },
    force: {
      type: 'boolean',
      summary:
        'replace files that exist, and succeed even if flows are dropped\nsince their target could not be imported',
    },
    ...HELP_OPTION,
  },
} as const satisfies CommandSpec;

/** Options of commands that change nodes. */
const CHANGE_OPTIONS = {
  'dry-run': { type: 'boolean', summary: 'show what would change, and change nothing' },
  verbose: { type: 'boolean', summary: 'name the nodes' },
  ...SOCKET_OPTION,
} as const satisfies OptionTable;

const FETCH_FORCE = {
  force: { type: 'boolean', summary: 'accept a list that lacks most of the nodes' },
} as const satisfies OptionTable;

export const ADD_OPTIONS = {
  ...CHANGE_OPTIONS,
  ...FETCH_FORCE,
  outbound: { type: 'string', value: 'TAG', summary: 'fetch through this outbound' },
  'user-agent': {
    type: 'string',
    value: 'TEXT',
    summary: 'what Weir says it is; providers choose the format by it',
  },
  interval: {
    type: 'string',
    value: 'TIME',
    summary:
      'the time between updates, such as 12h; otherwise what the\nprovider asks for, or a day',
  },
  'max-size': { type: 'string', value: 'SIZE', summary: 'the largest answer, such as 2M (4M)' },
  timeout: { type: 'string', value: 'TIME', summary: 'how long a fetch may take (30s)' },
} as const satisfies OptionTable;

export const UPDATE_OPTIONS = {
  ...CHANGE_OPTIONS,
  ...FETCH_FORCE,
  all: { type: 'boolean', summary: 'all sources, which is the default' },
  'if-due': { type: 'boolean', summary: 'only sources whose interval is over' },
} as const satisfies OptionTable;

export const REMOVE_OPTIONS = {
  ...CHANGE_OPTIONS,
  force: { type: 'boolean', summary: 'keep nodes that are in use as your own' },
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
    json: { type: 'boolean', summary: 'print JSON' },
    ...HELP_OPTION,
  },
  commands: [
    {
      name: 'add',
      operands: 'NAME URL',
      summary: 'add a source and its nodes; URL may be - for standard input',
      options: ADD_OPTIONS,
    },
    {
      name: 'update',
      operands: '[NAME...]',
      summary: 'fetch sources again and take over what has changed',
      options: UPDATE_OPTIONS,
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
      options: REMOVE_OPTIONS,
    },
  ],
} as const satisfies CommandSpec;

export const PROBE = {
  name: 'probe',
  operands: '[TAG...]',
  summary: 'measure outbounds: connection, handshake, first byte',
  options: {
    all: { type: 'boolean', short: 'a', summary: 'every outbound but blackholes' },
    config: {
      ...CONFIG_OPTION.config,
      summary: 'the configuration that has the outbounds; unless given, that\nof the running Weir',
    },
    ...SOCKET_OPTION,
    url: {
      type: 'string',
      value: 'URL',
      summary: `what is asked for, by HEAD; unless given,\n${DEFAULT_PROBE_URL}`,
    },
    tries: {
      type: 'string',
      short: 'n',
      value: 'N',
      summary: `tries of each outbound, one after the other; ${DEFAULT_TRIES} unless given`,
    },
    bytes: {
      type: 'string',
      value: 'BYTES',
      summary:
        'measure the throughput of as much of the URL as well; without\n' +
        '--url, of a document by Cloudflare',
    },
    timeout: {
      type: 'string',
      value: 'SECONDS',
      summary: `limit of one try; ${DEFAULT_TRY_SECONDS} unless given`,
    },
    'max-time': {
      type: 'string',
      value: 'SECONDS',
      summary: `limit of all; ${DEFAULT_TOTAL_SECONDS} unless given`,
    },
    json: { type: 'boolean', summary: 'print an object a line for each outbound' },
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
    outbound: {
      type: 'string',
      value: 'TAG',
      summary: 'go through this outbound or balancer; directly unless given',
    },
    config: {
      ...CONFIG_OPTION.config,
      summary: 'the configuration that has the outbound; unless given, that\nof the running Weir',
    },
    ...SOCKET_OPTION,
    output: { type: 'string', short: 'o', value: 'FILE', summary: 'write the body to FILE' },
    include: {
      type: 'boolean',
      short: 'i',
      summary: 'print the status and the headers before the body',
    },
    head: { type: 'boolean', short: 'I', summary: 'ask for the headers alone, by HEAD' },
    header: {
      type: 'string',
      short: 'H',
      value: 'LINE',
      multiple: true,
      summary: "send this header, as in 'Accept: text/plain'; repeatable",
    },
    'user-agent': {
      type: 'string',
      short: 'A',
      value: 'TEXT',
      summary: 'send this User-Agent in place of weir/VERSION',
    },
    'max-size': {
      type: 'string',
      value: 'BYTES',
      summary: `limit of the decoded body, such as 500k; ${DEFAULT_SIZE} unless given`,
    },
    'max-time': {
      type: 'string',
      value: 'SECONDS',
      summary: `limit of the whole request; ${DEFAULT_SECONDS} unless given`,
    },
    ...HELP_OPTION,
  },
} as const satisfies CommandSpec;
