import { parseArgs } from 'node:util';
import { WeirError, messageOf } from '../errors.ts';

export type Command =
  | { readonly kind: 'run'; readonly config: string | undefined; readonly watch: boolean }
  | { readonly kind: 'check'; readonly config: string | undefined }
  | { readonly kind: 'version'; readonly verbose: boolean }
  | { readonly kind: 'help' };

/** Arguments that make no command. */
export class UsageError extends WeirError {
  constructor(message: string) {
    super('usage', message);
  }
}

export const HELP = `Weir, a multi-protocol proxy

Usage: weir [run] [options]
       weir ctl COMMAND       control a running Weir through its API: see weir ctl --help

Options:
  -c, --config FILE  read the configuration from FILE; the built-in one serves
                     SOCKS on 127.0.0.1:1080, HTTP on 127.0.0.1:8080 and the
                     control API on 127.0.0.1:9090
  -w, --watch        reload when a file of the configuration changes
  -t, --test         check the configuration, report the first error, and exit
  -V, --version      print the version and exit; with --verbose, how it runs here as well
  -h, --help         print this text and exit

Signals: SIGHUP reloads. SIGINT and SIGTERM stop after at most 5 seconds for live connections; a second one stops at once.
Environment: RUST_LOG replaces [log].level of the configuration. WEIR_IO=node uses the sockets of Node.js alone.
`;

/** @throws {UsageError} naming what is wrong. */
export function parseCommand(argv: readonly string[]): Command {
  const { values, positionals } = parse(argv);
  if (values.help) return { kind: 'help' };
  if (values.version) return { kind: 'version', verbose: values.verbose };
  if (values.verbose) throw new UsageError('--verbose goes with --version');
  const [name = 'run', ...rest] = positionals;
  if (name !== 'run') throw new UsageError(`unknown command ${JSON.stringify(name)}`);
  if (rest.length > 0) throw new UsageError(`unexpected argument ${JSON.stringify(rest[0])}`);
  if (values.config === '') throw new UsageError('--config needs the name of a file');
  const { config, watch } = values;
  if (values.test) return { kind: 'check', config };
  if (watch && config === undefined) throw new UsageError('--watch needs a --config to watch');
  return { kind: 'run', config, watch };
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        config: { type: 'string', short: 'c' },
        test: { type: 'boolean', short: 't', default: false },
        watch: { type: 'boolean', short: 'w', default: false },
        version: { type: 'boolean', short: 'V', default: false },
        verbose: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (error) {
    throw new UsageError(messageOf(error));
  }
}
