import {
  expectOperands,
  HELP_OPTION,
  parseOptions,
  type CommandSpec,
  type OptionTable,
} from '../command.ts';
import { UsageError } from '../../errors.ts';
import { SOCKET_OPTION } from '../control/socket-option.ts';
import { optionLines } from '../help.ts';
import { parseBytes, parseSeconds } from '../option-values.ts';
import { CONFIG_OPTION } from '../run/arguments.ts';

const DEFAULT_SIZE = '64M';
const DEFAULT_SECONDS = '60';

const OPTIONS = {
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
} as const satisfies OptionTable;

export const FETCH = {
  name: 'fetch',
  operands: 'URL',
  summary: 'fetch a document, through an outbound if one is named',
  options: OPTIONS,
} as const satisfies CommandSpec;

export const FETCH_HELP = `weir fetch, which fetches a document through an outbound

Usage: weir fetch [options] URL

The body goes to standard output, decoded. At most 5 redirections are followed, none from https to
http; headers and user information of the URL do not go to other hosts. The exit status is 1 for
an error and for a status of 400 or more.

With --outbound the running Weir opens the connections, as far as one with that configuration is
found; otherwise this process does, from the file, without its inbounds and API.

Options:
${optionLines(OPTIONS)}`;

export interface FetchArguments {
  readonly help: boolean;
  readonly url: string;
  readonly outbound: string | undefined;
  readonly config: string | undefined;
  readonly socket: string | undefined;
  readonly output: string | undefined;
  readonly isHead: boolean;
  /** Whether the status and the headers are printed. */
  readonly includesHead: boolean;
  readonly headers: Readonly<Record<string, string>>;
  readonly maxBytes: number;
  readonly timeoutMs: number;
}

/** Parses the arguments of `weir fetch`. @throws {UsageError} for invalid arguments */
export function parseFetch(argv: readonly string[]): FetchArguments {
  const { values, positionals } = parseOptions(argv, OPTIONS);
  const { help = false, head = false, include = false, outbound } = values;
  if (!help) expectOperands(FETCH.name, positionals, FETCH.operands);
  const { config, socket, output } = values;
  if (outbound === undefined && (config !== undefined || socket !== undefined)) {
    throw new UsageError('--config and --socket go with --outbound');
  }
  const headers = Object.fromEntries((values.header ?? []).map(headerOf));
  if (values['user-agent'] !== undefined) headers['user-agent'] = values['user-agent'];
  return {
    help,
    url: positionals[0] ?? '',
    outbound,
    config,
    socket,
    output,
    isHead: head,
    includesHead: include || head,
    headers,
    maxBytes: parseBytes('--max-size', values['max-size'] ?? DEFAULT_SIZE),
    timeoutMs: parseSeconds('--max-time', values['max-time'] ?? DEFAULT_SECONDS),
  };
}

/** Parses a header line. @throws {UsageError} which does not quote the text, since it may be a secret */
function headerOf(line: string): [name: string, value: string] {
  const colon = line.indexOf(':');
  if (colon <= 0) throw new UsageError("--header needs a line such as 'Accept: text/plain'");
  return [line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()];
}
