import { flag, option, HELP_OPTION, type CommandSpec } from '../command.ts';
import { SOCKET_OPTION, RUNNING_OPTIONS, WHICH_OPTIONS } from '../running-options.ts';

/*
 * Names, operands and options of the commands that control a running Weir.
 * Help, completions and the manual page are made of them without loading a command.
 */

export const ROUTE_NAMES = ['groups', 'targets'] as const;

export const CTL = {
  name: 'ctl',
  operands: 'COMMAND',
  summary: 'control a running Weir through its API',
  options: {
    api: RUNNING_OPTIONS.api,
    'secret-file': RUNNING_OPTIONS['secret-file'],
    config: RUNNING_OPTIONS.config,
    ...SOCKET_OPTION,
    json: flag('JSON lines also on a terminal'),
    ...HELP_OPTION,
  },
  commands: [
    {
      name: 'routes',
      operands: '',
      summary: 'the default route, the groups and the possible targets',
      options: {
        names: option(
          'groups|targets',
          'only the names that pick takes, one on each line, without those\n' +
            'that hold control characters; fails after one second',
          { choices: ROUTE_NAMES },
        ),
      },
    },
    {
      name: 'pick',
      operands: 'GROUP TARGET',
      summary: 'set the target of a group, or of "default"',
      options: {
        'if-match': option('ETAG', 'only if the configuration file still has this tag'),
        close: flag("close the group's flows that are open on the old target"),
        'dry-run': flag('with --close: print how many flows that are, and change nothing'),
      },
    },
    {
      name: 'reload',
      operands: '',
      summary: 'read the configuration again and apply what has changed',
      options: {},
    },
    {
      name: 'connections',
      operands: '',
      summary: 'the live flows, or the sessions that carry them',
      options: {
        sessions: flag('the sessions that carry the flows'),
      },
    },
    {
      name: 'close',
      operands: '[FLOW...]',
      summary: 'close flows by id, those that match all options given, or all',
      options: {
        outbound: option('TAG', 'flows of this outbound'),
        inbound: option('TAG', 'flows of this inbound'),
        session: option('ID', 'flows of this session'),
        user: option('NAME', 'flows of this user'),
        all: flag('every flow'),
      },
    },
    { name: 'traffic', operands: '', summary: 'totals and rates, once a second', options: {} },
    { name: 'events', operands: '', summary: 'flows as they open and close', options: {} },
    {
      name: 'version',
      operands: '',
      summary: 'the version of the running program',
      options: {},
    },
  ],
} as const satisfies CommandSpec;

export const DRAIN = {
  name: 'drain',
  operands: '',
  summary: 'have a running Weir accept no clients, and wait for the end of\nits flows',
  options: {
    wait: option('TIME', 'wait no longer than 30s, 15m or 2h; 0s does not wait', { short: 'w' }),
    undo: flag('accept clients again'),
    ...WHICH_OPTIONS,
    json: flag('print a line of JSON each time'),
    ...HELP_OPTION,
  },
} as const satisfies CommandSpec;

export const LOG = {
  name: 'log',
  operands: '',
  summary: 'print the latest lines of the log of a running Weir, and follow it',
  options: {
    ...WHICH_OPTIONS,
    level: option(
      'FILTER',
      'only these lines: a level, or a list as [log].level takes\nit: warn,svc_app::instance=info',
      { short: 'l' },
    ),
    'no-follow': flag('print the latest lines and exit'),
    json: flag('print a line of JSON for each, as WEIR_LOG=json does'),
    ...HELP_OPTION,
  },
} as const satisfies CommandSpec;

export const LOG_LEVEL = {
  name: 'log-level',
  operands: 'LEVEL',
  summary: 'change what a running Weir logs, until its next start',
  options: { ...WHICH_OPTIONS, ...HELP_OPTION },
} as const satisfies CommandSpec;

export const RELOAD = {
  name: 'reload',
  operands: '[SOCKET]',
  summary: 'reload a running Weir; fails if the reload does',
  options: { ...WHICH_OPTIONS, ...HELP_OPTION },
} as const satisfies CommandSpec;

export const STATUS = {
  name: 'status',
  operands: '',
  summary: 'print the state of a running Weir: inbounds, balancers, limits,\nthe last reload',
  options: {
    ...WHICH_OPTIONS,
    json: flag('print one line of JSON'),
    ...HELP_OPTION,
  },
} as const satisfies CommandSpec;
