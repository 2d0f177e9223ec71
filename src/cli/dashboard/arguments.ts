import {
  expectOperands,
  HELP_OPTION,
  parseOptions,
  type CommandSpec,
  type OptionTable,
} from '../command.ts';
import { optionLines } from '../help.ts';
import { READ_ONLY_OPTION, RUNNING_OPTIONS, TLS_OPTIONS } from '../running-options.ts';

const OPTIONS = {
  ...RUNNING_OPTIONS,
  ...TLS_OPTIONS,
  ...READ_ONLY_OPTION,
  ...HELP_OPTION,
} as const satisfies OptionTable;

export const DASHBOARD = {
  name: 'dashboard',
  operands: '',
  summary: 'show and steer a running Weir in a browser',
  options: OPTIONS,
} as const satisfies CommandSpec;

export const DASHBOARD_HELP = `weir dashboard, which shows and steers a running Weir in a browser

Usage: weir dashboard [options]

It prints a link, which works once: the browser that opens it has access until it is closed. Enter
in this terminal, or SIGUSR2, prints a new link, for another browser. Only browsers of this host can
connect, to a random port unless --listen names one. SIGINT and SIGTERM end it.

Options:
${optionLines(OPTIONS)}
docs/dashboard.md describes its pages, and how to use it from another host.
`;

/** Parses the arguments of `weir dashboard`. @throws {UsageError} for invalid arguments */
export function parseDashboard(argv: readonly string[]) {
  const { values, positionals } = parseOptions(argv, OPTIONS);
  if (values.help !== true) expectOperands(DASHBOARD.name, positionals);
  return values;
}
