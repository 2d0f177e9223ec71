import {
  expectOperands,
  HELP_OPTION,
  parseOptions,
  type CommandSpec,
  type OptionTable,
} from '../command.ts';
import { optionLines } from '../help.ts';
import { RUNNING_OPTIONS, TLS_OPTIONS } from '../running-options.ts';

const OPTIONS = {
  ...RUNNING_OPTIONS,
  listen: {
    ...RUNNING_OPTIONS.listen,
    summary:
      'where to listen: an address of this host (default: 127.0.0.1:19347),\n' +
      'the path of a unix socket, or with TLS any address',
  },
  ...TLS_OPTIONS,
  'token-file': {
    type: 'string',
    value: 'FILE',
    summary: 'a file with a token that scrapes need (credentials_file of Prometheus)',
  },
  once: { type: 'boolean', summary: 'print the metrics and exit' },
  ...HELP_OPTION,
} as const satisfies OptionTable;

export const METRICS = {
  name: 'metrics',
  operands: '',
  summary: 'serve metrics of a running Weir to Prometheus',
  options: OPTIONS,
} as const satisfies CommandSpec;

export const METRICS_HELP = `weir metrics, which serves metrics of a running Weir to Prometheus

Usage: weir metrics [options]

GET /metrics has them, in the text format of Prometheus or in OpenMetrics. Each scrape asks Weir
once, on its control socket or else on its API; between scrapes it is not asked.

Options:
${optionLines(OPTIONS)}`;

export type MetricsArguments = ReturnType<typeof parseMetrics>;

/** Parses the arguments of `weir metrics`. @throws {UsageError} for invalid arguments */
export function parseMetrics(argv: readonly string[]) {
  const { values, positionals } = parseOptions(argv, OPTIONS);
  if (values.help !== true) expectOperands(METRICS.name, positionals);
  return values;
}
