import {
  expectOperands,
  HELP_OPTION,
  parseOptions,
  type CommandSpec,
  type OptionTable,
} from '../command.ts';
import { UsageError } from '../../errors.ts';
import { parseFlow, type ExplainedFlow } from '../../explain/flow.ts';
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
  batch: {
    type: 'string',
    value: 'FILE',
    summary:
      'compare routes with the expectations of FILE, lines such as\n' +
      'HOST:PORT [from=IP] [inbound=TAG] [network=udp] [sniffed=NAME] => OUTBOUND;\n' +
      'the exit status is 1 if any differs',
  },
  write: {
    type: 'boolean',
    summary: 'with --batch: write the outbounds as they are into FILE',
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
       weir explain --batch FILE [--write] [--config FILE] [--json]

Options:
${optionLines(OPTIONS)}
Nothing is resolved, dialled or bound. IPv6 is written in brackets: [2001:db8::1]:443. A URL stands
for its host and port: https://example.com/path.
`;

export interface ExplainArguments extends ExplainedFlow {
  readonly kind: 'explain';
  readonly config: string | undefined;
  readonly json: boolean;
}

/** Arguments of `--batch`. */
export interface BatchArguments {
  readonly kind: 'batch';
  readonly config: string | undefined;
  readonly file: string;
  readonly write: boolean;
  readonly json: boolean;
}

/** Parses the arguments of `weir explain`. @throws {UsageError} for invalid arguments */
export function parseExplain(
  argv: readonly string[],
): ExplainArguments | BatchArguments | { readonly kind: 'help' } {
  const { values, positionals } = parseOptions(argv, OPTIONS);
  if (values.help === true) return { kind: 'help' };
  const { config, batch, write = false, json = false } = values;
  if (config === '') throw new UsageError('--config needs the name of a file');
  if (batch !== undefined) {
    expectOperands('explain --batch', positionals);
    if (batch === '') throw new UsageError('--batch needs the name of a file');
    const { from, inbound, network, sniffed } = values;
    if ([from, inbound, network, sniffed].some((value) => value !== undefined)) {
      throw new UsageError('with --batch the properties of flows are in the file');
    }
    return { kind: 'batch', config, file: batch, write, json };
  }
  if (write) throw new UsageError('--write needs --batch');
  expectOperands('explain', positionals, EXPLAIN.operands);
  return { kind: 'explain', config, json, ...parseFlow(positionals[0] ?? '', values, '--') };
}
