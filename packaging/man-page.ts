import {
  type CommandSpec,
  type OptionTable,
  optionForm,
} from '../packages/weir/src/cli/command.ts';
import { COMMANDS } from '../packages/weir/src/cli/commands.ts';

const SIGNALS: readonly (readonly [string, string])[] = [
  [
    'SIGHUP',
    'Reads the configuration again and applies what has changed; open connections continue.',
  ],
  [
    'SIGINT, SIGTERM',
    'Stop: live connections get five seconds. A second signal ends them at once.',
  ],
];

const ENVIRONMENT: readonly (readonly [string, string])[] = [
  ['RUST_LOG', 'Replaces the level of the configuration: a filter such as info,svc_app=debug.'],
  ['WEIR_IO', "With the value node, the sockets of Node.js are used in place of the kernel's."],
  ['WEIR_LOG', 'With the value json, the log is an object a line.'],
  [
    'WEIR_LOG_ADDRESSES',
    'With net or none, the log masks addresses of clients, destinations and servers of outbounds.',
  ],
  ['WEIR_SOCKET', 'The control socket of a running Weir that commands ask.'],
  [
    'WEIR_SOCKET_MODE',
    'Permissions of unix sockets that inbounds listen on; 600 unless it is set.',
  ],
  [
    'XDG_RUNTIME_DIR',
    'The folder in which weir has the control socket, unless --reload-socket names one; /run without it.',
  ],
  ['WEIR_API', 'The API that weir ctl uses, unless --api names one.'],
  ['NO_COLOR', 'Where it is set, the log has no colours on a terminal either.'],
  ['UV_THREADPOOL_SIZE', 'Threads for look-ups by the C library; 16 unless it is set.'],
];

const STATUS: readonly (readonly [string, string])[] = [
  ['0', 'Success; a stop by a signal.'],
  ['1', 'A call failed, or a configuration that was checked is invalid.'],
  ['2', 'The command line is invalid.'],
  ['78', 'The configuration with which the service was to start is invalid.'],
];

type Described = Omit<CommandSpec, 'commands'> & Pick<CommandSpec, 'commands'>;

/** The manual page weir(1), from the table of commands. */
export function manPage(version: string, commands: readonly Described[] = COMMANDS): string {
  return [
    `.TH WEIR 1 "" "weir ${escape(version)}" "User Commands"`,
    '.SH NAME',
    'weir \\- multi-protocol proxy',
    '.SH SYNOPSIS',
    '.B weir',
    '[\\fBrun\\fR] [\\fIoptions\\fR]',
    '.br',
    '.B weir',
    '\\fIcommand\\fR [\\fIoptions\\fR]',
    '.SH DESCRIPTION',
    escape(
      'Weir accepts connections over one protocol, chooses an outbound for each by rules, and sends them on ' +
        'directly or over another protocol. Routes, users and listeners change without dropping a connection.',
    ),
    '.SH COMMANDS',
    ...commands.flatMap((command) => section(command, 'weir')),
    '.SH SIGNALS',
    ...SIGNALS.flatMap(([name, text]) => tagged(`\\fB${escape(name)}\\fR`, text)),
    '.SH ENVIRONMENT',
    ...ENVIRONMENT.flatMap(([name, text]) => tagged(`\\fB${escape(name)}\\fR`, text)),
    '.SH EXIT STATUS',
    ...STATUS.flatMap(([name, text]) => tagged(`\\fB${name}\\fR`, text)),
    '.SH FILES',
    ...tagged('\\fI/etc/weir/weir.toml\\fR', 'The configuration of the service weir.service.'),
    '.SH SEE ALSO',
    `.BR systemctl (1),`,
    escape('and the pages in /usr/share/doc/weir/docs.'),
    '',
  ].join('\n');
}

/** A command with its options and, one level down, its own commands. */
function section(command: Described, before: string): string[] {
  const name = `${before} ${command.name}`;
  return [
    `.SS ${escape([name, command.operands].join(' ').trim())}`,
    escape(oneLine(command.summary)),
    ...options(command.options),
    ...(command.commands ?? []).flatMap((inner) => [
      ...tagged(
        `\\fB${escape(`${name} ${inner.name}`)}\\fR ${escape(inner.operands)}`.trim(),
        inner.summary,
      ),
      ...(Object.keys(inner.options).length === 0 ? [] : ['.RS', ...options(inner.options), '.RE']),
    ]),
  ];
}

const options = (table: OptionTable): string[] =>
  Object.entries(table).flatMap(([name, option]) =>
    tagged(`\\fB${escape(optionForm(name, option).trim())}\\fR`, option.summary),
  );

const tagged = (tag: string, text: string): string[] => ['.TP', tag, escape(oneLine(text))];

const oneLine = (text: string): string => text.replaceAll('\n', ' ');

/** Text in which troff sees no commands: a hyphen stays what a command line has. */
function escape(text: string): string {
  const plain = text.replaceAll('\\', '\\e').replaceAll('-', '\\-');
  return /^['.]/.test(plain) ? `\\&${plain}` : plain;
}
