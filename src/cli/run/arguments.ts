import {
  expectOperands,
  HELP_OPTION,
  parseOptions,
  UsageError,
  type CommandSpec,
  type OptionTable,
} from '../command.ts';
import { commandLines, optionLines } from '../help.ts';

export interface RunOptions {
  readonly config: string | undefined;
  /** Whether to reload when a file changes. */
  readonly watch: boolean;
  /** The path of the socket for `weir reload`. */
  readonly reloadSocket: string | undefined;
}

/** The default command of `weir` and its variants. */
export type RunArguments =
  | ({ readonly kind: 'run' } & RunOptions)
  | { readonly kind: 'check'; readonly config: string | undefined }
  | { readonly kind: 'version'; readonly verbose: boolean }
  | { readonly kind: 'help' };

export const CONFIG_OPTION = {
  config: {
    type: 'string',
    short: 'c',
    value: 'FILE',
    summary:
      'read the configuration from FILE; the built-in one serves\n' +
      'SOCKS on 127.0.0.1:1080, HTTP on 127.0.0.1:8080 and the\n' +
      'control API on 127.0.0.1:9090',
  },
} as const satisfies OptionTable;

export const RUN_OPTIONS = {
  ...CONFIG_OPTION,
  watch: {
    type: 'boolean',
    short: 'w',
    summary: 'reload when a file of the configuration changes',
  },
  'reload-socket': {
    type: 'string',
    value: 'PATH',
    summary: "listen on a unix socket for 'weir reload PATH'",
  },
  test: {
    type: 'boolean',
    short: 't',
    summary: 'check the configuration, report the first error, and exit',
  },
  version: { type: 'boolean', short: 'V', summary: 'print the version and exit' },
  verbose: { type: 'boolean', summary: 'with --version: print how it runs here as well' },
  ...HELP_OPTION,
} as const satisfies OptionTable;

/** The help of `weir` itself. */
export const helpWith = (commands: readonly CommandSpec[]): string => `Weir, a multi-protocol proxy

Usage: weir [run] [options]
       weir COMMAND [options]

Commands:
${commandLines(commands)}
Options:
${optionLines(RUN_OPTIONS)}
Signals: SIGHUP reloads. SIGINT and SIGTERM stop after at most 5 seconds for live connections; a second one stops at once.
Environment: RUST_LOG replaces [log].level of the configuration. WEIR_IO=node uses the sockets of Node.js alone. WEIR_LOG=json logs an object a line.
WEIR_SOCKET_MODE=660 are the permissions of unix sockets that it listens on, 600 unless it is set.
`;

/** @throws {UsageError} for invalid arguments. */
export function parseRun(argv: readonly string[]): RunArguments {
  const { values, positionals } = parseOptions(argv, RUN_OPTIONS);
  const { config, watch = false, verbose = false, 'reload-socket': reloadSocket } = values;
  if (values.help === true) return { kind: 'help' };
  if (values.version === true) return { kind: 'version', verbose };
  if (verbose) throw new UsageError('--verbose goes with --version');
  // The name of the command may follow its options.
  expectOperands('run', positionals[0] === 'run' ? positionals.slice(1) : positionals);
  if (config === '') throw new UsageError('--config needs the name of a file');
  if (values.test === true) return { kind: 'check', config };
  if (watch && config === undefined) throw new UsageError('--watch needs a --config to watch');
  if (reloadSocket === '') throw new UsageError('--reload-socket needs the path of a socket');
  return { kind: 'run', config, watch, reloadSocket };
}
