import {
  expectOperands,
  HELP_OPTION,
  parseOptions,
  type CommandSpec,
  type OptionTable,
} from '../command.ts';
import { UsageError } from '../../errors.ts';
import { optionLines } from '../help.ts';
import { RUNNING_OPTIONS, TLS_OPTIONS } from '../running-options.ts';

/** The default of `--listen`; mihomo's port 9090 is that of Weir's own API. */
export const CLASH_LISTEN = '127.0.0.1:9097';

const OPTIONS = {
  ...RUNNING_OPTIONS,
  listen: {
    ...RUNNING_OPTIONS.listen,
    summary:
      `where to listen: an address of this host (default: ${CLASH_LISTEN}),\n` +
      'the path of a unix socket, or with TLS any address',
  },
  ...TLS_OPTIONS,
  'clash-secret-file': {
    type: 'string',
    value: 'FILE',
    summary:
      'a file with the secret that dashboards ask for; without it a new one\n' +
      'is made at each start, and printed',
  },
  'allow-origin': {
    type: 'string',
    multiple: true,
    value: 'ORIGIN',
    summary:
      'a page elsewhere that may use it, such as https://board.example; may\n' +
      'be given several times',
  },
  ui: {
    type: 'string',
    value: 'FOLDER',
    summary: "serve a dashboard's built files below /ui/",
  },
  ...HELP_OPTION,
} as const satisfies OptionTable;

export const CLASH_API = {
  name: 'clash-api',
  operands: '',
  summary: "serve a running Weir to dashboards made for mihomo's controller",
  options: OPTIONS,
} as const satisfies CommandSpec;

export const CLASH_API_HELP = `weir clash-api, which serves a running Weir in the shape of mihomo's external controller

Usage: weir clash-api [options]

zashboard, metacubexd, yacd and clashctl show and steer Weir through it. It is a process of its own,
a client of Weir's API and control socket, and asks for a secret of its own: that of the API stays
here. Pages of other origins are refused but for those of --allow-origin; a dashboard of --ui needs
none.

Options:
${optionLines(OPTIONS)}`;

export type ClashApiArguments = ReturnType<typeof parseClashApi>;

/** Parses the arguments of `weir clash-api`. @throws {UsageError} for invalid arguments */
export function parseClashApi(argv: readonly string[]) {
  const { values, positionals } = parseOptions(argv, OPTIONS);
  if (values.help !== true) expectOperands(CLASH_API.name, positionals);
  return {
    ...values,
    /** Origins as browsers send them. */
    origins: (values['allow-origin'] ?? []).map(originOf),
  };
}

/** Normalises an origin. @throws {UsageError} unless it is one that a browser could send */
function originOf(text: string): string {
  const url = URL.parse(text);
  const isWeb = url?.protocol === 'http:' || url?.protocol === 'https:';
  if (isWeb && (url.origin === text || url.href === text) && url.pathname === '/')
    return url.origin;
  throw new UsageError(
    `--allow-origin ${JSON.stringify(text)}: expected the scheme, host and port of a page, such as https://board.example`,
  );
}
