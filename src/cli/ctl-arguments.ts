import { parseArgs } from 'node:util';
import { messageOf } from '../errors.ts';
import { UsageError } from './arguments.ts';

export interface CtlArguments {
  readonly command: CtlCommand;
  /** `--api` as given. */
  readonly api: string | undefined;
  readonly secretFile: string | undefined;
  /** JSON lines, on a terminal too. */
  readonly json: boolean;
}

export type CtlCommand =
  | { readonly kind: 'help' | 'routes' | 'reload' | 'traffic' | 'events' | 'version' }
  | { readonly kind: 'connections'; readonly sessions: boolean }
  | {
      readonly kind: 'pick';
      readonly group: string;
      readonly target: string;
      readonly ifMatch: string | undefined;
    }
  | {
      readonly kind: 'close';
      readonly flows: readonly string[];
      readonly selector: ReadonlyMap<string, string>;
    };

export const CTL_HELP = `weir ctl, a client for the control API

Usage: weir ctl [options] COMMAND

Commands:
  routes                    the default route, the groups and the possible targets
  pick GROUP TARGET         set the target of a group, or of "default"
  reload                    read the configuration again and apply what has changed
  connections [--sessions]  the live flows, or the sessions that carry them
  close FLOW...             close flows by id
  close --outbound TAG --inbound TAG --session ID --user NAME
                            close the flows that match all options given
  close --all               close every flow
  traffic                   totals and rates, once a second
  events                    flows as they open and close
  version                   the version of the running program

Options:
  --api WHERE         http://host:port, host:port, or the path of a unix socket
                      (default: $WEIR_API, then 127.0.0.1:9090)
  --secret-file FILE  a file with the secret of [api]
  --if-match ETAG     pick: only if the configuration file still has this tag
  --json              JSON lines also on a terminal
  -h, --help          print this text and exit

On a terminal the output is a table, in a pipe one line of JSON for each entry.
`;

const SELECTORS = ['outbound', 'inbound', 'session', 'user'] as const;

/** Which options belong to which command. */
const OPTIONS_OF: Readonly<Record<string, readonly string[]>> = {
  pick: ['if-match'],
  connections: ['sessions'],
  close: ['all', ...SELECTORS],
};

/** @throws {UsageError} naming what is wrong. */
export function parseCtl(argv: readonly string[]): CtlArguments {
  const { values, positionals } = parse(argv);
  const { api, 'secret-file': secretFile, json = false } = values;
  const [name, ...operands] = positionals;
  if (values.help === true) return { command: { kind: 'help' }, api, secretFile, json };
  if (name === undefined) throw new UsageError('ctl needs a command');
  for (const option of ['if-match', 'sessions', 'all', ...SELECTORS] as const) {
    if (values[option] !== undefined && !OPTIONS_OF[name]?.includes(option)) {
      throw new UsageError(`--${option} does not go with ctl ${name}`);
    }
  }
  return { command: toCommand(name, operands, values), api, secretFile, json };
}

function toCommand(name: string, operands: readonly string[], values: Values): CtlCommand {
  switch (name) {
    case 'routes':
    case 'reload':
    case 'traffic':
    case 'events':
    case 'version':
      expectOperands(name, operands, 0);
      return { kind: name };
    case 'connections':
      expectOperands(name, operands, 0);
      return { kind: name, sessions: values.sessions ?? false };
    case 'pick': {
      expectOperands(name, operands, 2, 'GROUP TARGET');
      const [group = '', target = ''] = operands;
      if (group === '') throw new UsageError('ctl pick needs the name of a group');
      return { kind: name, group, target, ifMatch: values['if-match'] };
    }
    case 'close':
      return toClose(operands, values);
    default:
      throw new UsageError(`unknown command ${JSON.stringify(name)} of ctl`);
  }
}

function toClose(flows: readonly string[], values: Values): CtlCommand {
  const selector = new Map<string, string>();
  for (const field of SELECTORS) {
    const value = values[field];
    if (value !== undefined) selector.set(field, value);
  }
  const ways = [flows.length > 0, selector.size > 0, values.all === true];
  if (ways.filter(Boolean).length !== 1) {
    throw new UsageError('ctl close needs either ids of flows, or selectors, or --all');
  }
  return { kind: 'close', flows, selector };
}

function expectOperands(name: string, operands: readonly string[], count: number, what = ''): void {
  if (operands.length < count) throw new UsageError(`ctl ${name} needs ${what}`);
  const extra = operands[count];
  if (extra !== undefined) throw new UsageError(`unexpected argument ${JSON.stringify(extra)}`);
}

type Values = ReturnType<typeof parse>['values'];

function parse(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        api: { type: 'string' },
        'secret-file': { type: 'string' },
        json: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
        'if-match': { type: 'string' },
        sessions: { type: 'boolean' },
        all: { type: 'boolean' },
        outbound: { type: 'string' },
        inbound: { type: 'string' },
        session: { type: 'string' },
        user: { type: 'string' },
      },
    });
  } catch (error) {
    throw new UsageError(messageOf(error));
  }
}
