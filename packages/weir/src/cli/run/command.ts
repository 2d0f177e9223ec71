import {
  flag,
  option,
  expectOperands,
  HELP_OPTION,
  parseOptions,
  type OptionTable,
  optionLines,
  topicLines,
  type CommandTopic,
  type CommandIo,
} from '../command.ts';
import { basename, dirname, join } from 'node:path';
import { UsageError, VERSION } from '@weir/base';
import type { LimitsPaths } from '@weir/server/limits';
import { parseDuration } from '../option-values.ts';
import type { Importable } from '@weir/server/app/log/error-lines';

/** Default of `--grace`, in milliseconds. */
const STOP_GRACE_MS = 5_000;
/** Maximum of `--grace` in seconds; Node's timers are limited to 2 ** 31 ms. */
const LONGEST_GRACE_S = 20 * 86_400;

export const CONFIG_OPTION = {
  config: option(
    'FILE',
    'read the configuration from FILE; the built-in one serves\n' +
      'SOCKS on 127.0.0.1:1080, HTTP on 127.0.0.1:8080 and the\n' +
      'control API on 127.0.0.1:9090',
    { short: 'c' },
  ),
} as const satisfies OptionTable;

export const RUN_OPTIONS = {
  ...CONFIG_OPTION,
  watch: flag('reload when a file of the configuration changes', { short: 'w' }),
  'reload-socket': option(
    'PATH',
    'the control socket, for weir reload and weir status; by default\n' +
      'one in $XDG_RUNTIME_DIR/weir, or as root in /run/weir',
  ),
  grace: option(
    'TIME',
    'how long flows may continue after a stop signal, such as 10m;\n5s by default',
  ),
  limits: option(
    'FILE',
    'limit bytes, time, devices and rates of accounts as FILE says,\n' +
      'which is read again when it changes',
  ),
  'limits-state': option(
    'FILE',
    'where the used bytes of accounts are stored; by default beside the\n' +
      "limits file, or in systemd's StateDirectory",
  ),
  pcap: option(
    'FILE',
    'write the packets of tun inbounds to FILE, for Wireshark and tcpdump;\n' +
      'the last 32 to 64 MiB are kept, in FILE and FILE.1',
  ),
  'no-control-socket': flag('open no control socket'),
  test: flag('check the configuration, report the first error, and exit', { short: 't' }),
  version: flag('print the version and exit', { short: 'V' }),
  verbose: flag('with --version: print how it runs here as well'),
  ...HELP_OPTION,
} as const satisfies OptionTable;

/** The help of `weir` itself. */
const helpWith = (topics: readonly CommandTopic[]): string => `Weir, a multi-protocol proxy

Usage: weir [run] [options]
       weir COMMAND [options]

${topicLines(topics)}
Options:
${optionLines(RUN_OPTIONS)}
Signals: SIGHUP reloads. SIGINT and SIGTERM stop: no client is accepted, and flows have --grace to
end; a second one stops at once.

Environment:
  WEIR_SOCKET         the control socket that commands use
  WEIR_LOG=json       log an object a line
  WEIR_LOG_ADDRESSES  net or none masks the addresses of clients and destinations
  RUST_LOG            replaces [log].level of the configuration
  WEIR_SOCKET_MODE    permissions of the unix sockets that it listens on, 600 unless it is set
  WEIR_IO=node        use the sockets of Node.js alone
`;

/** Parses the arguments of `weir run`. @throws {UsageError} for invalid arguments */
export function parseRun(argv: readonly string[]) {
  const { values, positionals } = parseOptions(argv, RUN_OPTIONS);
  const { config, watch = false, verbose = false, 'reload-socket': reloadSocket, pcap } = values;
  const graceMs = values.grace === undefined ? STOP_GRACE_MS : graceOf(values.grace);
  const controlSocket = values['no-control-socket'] !== true;
  if (values.help === true) return { kind: 'help' as const };
  if (values.version === true) return { kind: 'version' as const, verbose };
  if (verbose) throw new UsageError('--verbose goes with --version');
  // The name of the command may follow its options.
  expectOperands('run', positionals[0] === 'run' ? positionals.slice(1) : positionals);
  if (watch && config === undefined) throw new UsageError('--watch needs a --config to watch');
  const limits = limitsOf(values);
  if (values.test === true) return { kind: 'check' as const, config, limits };
  if (reloadSocket !== undefined && !controlSocket) {
    throw new UsageError('--no-control-socket and --reload-socket exclude each other');
  }
  return {
    kind: 'run' as const,
    config,
    watch,
    reloadSocket,
    controlSocket,
    graceMs,
    pcap,
    limits,
  };
}

/** Returns the files of `--limits`; `undefined` without it. @throws {UsageError} */
function limitsOf({
  limits: path,
  'limits-state': state,
}: {
  readonly limits?: string | undefined;
  readonly 'limits-state'?: string | undefined;
}): LimitsPaths | undefined {
  if (path === undefined) {
    if (state !== undefined) throw new UsageError('--limits-state goes with --limits');
    return undefined;
  }
  return { path, statePath: state ?? stateFileOf(path, process.env['STATE_DIRECTORY']) };
}

/**
 * Returns the default file for the used bytes: `limits.state.json` beside `limits.toml`.
 * @param folders the folders that systemd has made for the state of the service, separated by colons
 */
export function stateFileOf(path: string, folders: string | undefined): string {
  const name = `${basename(path, '.toml')}.state.json`;
  const [folder = ''] = folders?.split(':') ?? [];
  return join(folder === '' ? dirname(path) : folder, name);
}

/** Parses `--grace` to milliseconds. @throws {UsageError} for an invalid time, or one that exceeds a timer's limit */
function graceOf(text: string): number {
  const seconds = parseDuration('--grace', text);
  if (seconds <= LONGEST_GRACE_S) return seconds * 1000;
  throw new UsageError('--grace takes 20 days at most');
}

/** The formats that `weir import` reads. */
const IMPORTABLE: Importable = ['json', 'yaml', 'links', 'wireguard'];

/**
 * `weir run`, and the options of `weir` that only print. Each imports its implementation when it
 * runs.
 *
 * @param topics the commands, for the help
 */
export async function runCommand(
  argv: readonly string[],
  io: CommandIo,
  topics: () => Promise<readonly CommandTopic[]>,
): Promise<number> {
  const parsed = parseRun(argv);
  switch (parsed.kind) {
    case 'help':
      io.stdout.write(helpWith(await topics()));
      return 0;
    case 'version':
      io.stdout.write(`weir ${VERSION}\n`);
      if (parsed.verbose) io.stdout.write((await import('../surroundings.ts')).howItRuns());
      return 0;
    case 'check':
      return (await import('../check.ts')).check(
        parsed.config,
        io,
        IMPORTABLE,
        parsed.limits?.path,
      );
    case 'run':
      return (await import('./run.ts')).run({ ...parsed, importable: IMPORTABLE });
    default:
      return parsed satisfies never;
  }
}
