import { ipVersion, unmapIPv4, type Endpoint, type Network } from '../../net/addresses/address.ts';
import { normalizeHost } from '../../net/addresses/host-name.ts';
import {
  expectOperands,
  HELP_OPTION,
  parseOptions,
  UsageError,
  type CommandSpec,
  type OptionTable,
} from '../command.ts';
import { optionLines } from '../help.ts';
import { CONFIG_OPTION } from '../run/arguments.ts';

const OPTIONS = {
  ...CONFIG_OPTION,
  from: {
    type: 'string',
    value: 'IP',
    summary: 'the address of the client; 127.0.0.1 unless given',
  },
  inbound: {
    type: 'string',
    value: 'TAG',
    summary: 'the inbound that the client uses; the first one unless given',
  },
  network: {
    type: 'string',
    value: 'NETWORK',
    choices: ['tcp', 'udp'],
    summary: 'tcp, which is the default, or udp',
  },
  sniffed: {
    type: 'string',
    value: 'NAME',
    summary: 'the domain in the first bytes of a flow to an IP address',
  },
  json: { type: 'boolean', summary: 'print one line of JSON' },
  ...HELP_OPTION,
} as const satisfies OptionTable;

export const EXPLAIN = {
  name: 'explain',
  operands: 'HOST:PORT',
  summary: 'print the route of a destination, and the rules that were passed over',
  options: OPTIONS,
} as const satisfies CommandSpec;

export const EXPLAIN_HELP = `Prints where a flow to a destination would go, and why.

Usage: weir explain HOST:PORT [options]

Options:
${optionLines(OPTIONS)}
Nothing is resolved, dialled or bound. IPv6 is written in brackets: [2001:db8::1]:443.
`;

/** The flow to explain; absent values are assumed. */
export interface ExplainArguments {
  readonly kind: 'explain';
  readonly config: string | undefined;
  /** The host in the form of flows: an address, or a name in ASCII. */
  readonly destination: Endpoint;
  readonly network: Network;
  readonly from: string | undefined;
  readonly inbound: string | undefined;
  readonly sniffed: string | undefined;
  readonly json: boolean;
}

/** @throws {UsageError} for invalid arguments. */
export function parseExplain(
  argv: readonly string[],
): ExplainArguments | { readonly kind: 'help' } {
  const { values, positionals } = parseOptions(argv, OPTIONS);
  if (values.help === true) return { kind: 'help' };
  expectOperands('explain', positionals, EXPLAIN.operands);
  const { config, from, inbound, network = 'tcp', sniffed, json = false } = values;
  if (config === '') throw new UsageError('--config needs the name of a file');
  if (network !== 'tcp' && network !== 'udp') {
    throw new UsageError(`--network is tcp or udp, not ${JSON.stringify(network)}`);
  }
  if (from !== undefined && ipVersion(from) === 0) {
    throw new UsageError(`--from needs an IP address, not ${JSON.stringify(from)}`);
  }
  const name = sniffed === undefined ? undefined : normalizeHost(sniffed);
  if (sniffed !== undefined && (name === undefined || ipVersion(name) !== 0)) {
    throw new UsageError(`--sniffed needs a domain name, not ${JSON.stringify(sniffed)}`);
  }
  return {
    kind: 'explain',
    config,
    destination: parseDestination(positionals[0] ?? ''),
    network,
    from: from === undefined ? undefined : unmapIPv4(from),
    inbound,
    sniffed: name,
    json,
  };
}

const PORT = /^\d{1,5}$/;

/** Parses `example.com:443` or `[2001:db8::1]:443`; the host in the form of flows. */
function parseDestination(text: string): Endpoint {
  const colon = text.lastIndexOf(':');
  const written = text.slice(0, Math.max(0, colon));
  const port = text.slice(colon + 1);
  const isBracketed = written.startsWith('[') && written.endsWith(']');
  const bare = isBracketed ? written.slice(1, -1) : written;
  const host = isBracketed === bare.includes(':') ? normalizeHost(bare) : undefined;
  if (host === undefined || !PORT.test(port) || Number(port) > 65_535) {
    const wanted = 'HOST:PORT, with an IPv6 address in brackets';
    throw new UsageError(`${JSON.stringify(text)} is not ${wanted}`);
  }
  return { host, port: Number(port) };
}
