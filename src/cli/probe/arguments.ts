import { HELP_OPTION, parseOptions, type CommandSpec, type OptionTable } from '../command.ts';
import { UsageError } from '../../errors.ts';
import { SOCKET_OPTION } from '../control/socket-option.ts';
import { optionLines } from '../help.ts';
import { parseBytes, parseCount, parseSeconds } from '../option-values.ts';
import type { ProbePlan } from '../../probe/contract.ts';
import {
  DEFAULT_PROBE_URL,
  DEFAULT_TOTAL_SECONDS,
  DEFAULT_TRIES,
  DEFAULT_TRY_SECONDS,
} from '../../probe/default-plan.ts';
import { CONFIG_OPTION } from '../run/arguments.ts';

const DEFAULT_BYTES_URL = 'http://speed.cloudflare.com/__down?bytes=';
const MOST_TRIES = 100;

const OPTIONS = {
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
} as const satisfies OptionTable;

export const PROBE = {
  name: 'probe',
  operands: '[TAG...]',
  summary: 'measure outbounds: connection, handshake, first byte',
  options: OPTIONS,
} as const satisfies CommandSpec;

export const PROBE_HELP = `weir probe, which measures outbounds

Usage: weir probe [options] TAG...
       weir probe [options] --all

TAG is an outbound, or a balancer for its members. Each try is a new flow: the name of the server
(resolve), the TCP connection to it (dial), TLS and the carrier (handshake), the first byte of the
URL's response, and a second request on the same connection, which is the latency of the path
alone. The table has medians, and * at the outbound with the fastest second request.

With a running Weir that has this configuration, the flows go through it and change nothing in it;
otherwise through a process of its own. The exit status is 1 when an outbound had no successful
try.

Options:
${optionLines(OPTIONS)}`;

export interface ProbeArguments {
  readonly help: boolean;
  /** Tags to probe; empty for all outbounds. */
  readonly tags: readonly string[];
  readonly config: string | undefined;
  readonly socket: string | undefined;
  readonly plan: ProbePlan;
  readonly json: boolean;
}

/** Parses the arguments of `weir probe`. @throws {UsageError} for invalid arguments */
export function parseProbe(argv: readonly string[]): ProbeArguments {
  const { values, positionals } = parseOptions(argv, OPTIONS);
  const { help = false, all = false, config, socket, json = false, url } = values;
  if (!help && all === positionals.length > 0) {
    throw new UsageError(all ? 'a TAG goes without --all' : 'probe needs a TAG, or --all');
  }
  const bytes = values.bytes === undefined ? 0 : parseBytes('--bytes', values.bytes);
  const plan = {
    url: urlOf(url ?? DEFAULT_PROBE_URL),
    tries: parseCount('--tries', values.tries ?? String(DEFAULT_TRIES), MOST_TRIES),
    bytes,
    bytesUrl: urlOf(url ?? `${DEFAULT_BYTES_URL}${bytes}`),
    timeoutMs: parseSeconds('--timeout', values.timeout ?? String(DEFAULT_TRY_SECONDS)),
    totalMs: parseSeconds('--max-time', values['max-time'] ?? String(DEFAULT_TOTAL_SECONDS)),
  };
  return { help, tags: positionals, config, socket, plan, json };
}

/** Parses a URL. @throws {UsageError} which does not quote the text, since it may have a secret */
function urlOf(text: string): URL {
  const url = URL.parse(text);
  if (url && (url.protocol === 'http:' || url.protocol === 'https:')) return url;
  throw new UsageError('--url needs a URL of http: or https:');
}
