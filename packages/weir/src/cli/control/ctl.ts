import { once } from 'node:events';
import type { FlowView, SessionView, TrafficView } from '@weir/server/api/views';
import type { RouteView } from '@weir/config/route-view';
import { UsageError, WeirError, hintsOf } from '@weir/base';
import { systemClock, type Clock, Deadline } from '@weir/io/time';
import { printable, printableLines, quoted, printableJson } from '@weir/base/printable';
import type { ReloadReport } from '@weir/server/supervisor/reload-report';
import {
  commandLines,
  type CommandIo,
  optionLines,
  subcommandOptionLines,
  subcommandParser,
  type SubcommandValues,
} from '../command.ts';
import {
  ApiClient,
  parsePlace,
  readSecret,
  ApiClientError,
  closeFlows,
  flowsLeft,
  planPick,
  putPick,
  type RouteSwitch,
} from '@weir/client/api';
import { findRunning, type RunningSearch, type RunningWeir } from '@weir/client/running';
import { counted } from '@weir/base/text/amounts';
import {
  TRAFFIC_HEAD,
  eventLine,
  flowsTable,
  reportTable,
  routesTable,
  sessionsTable,
  trafficLine,
} from './ctl-views.ts';
import { searchOf } from '../running-options.ts';
import { CTL, ROUTE_NAMES } from './specs.ts';
import { needSocket, type SocketSearch } from '@weir/client';

type RouteNames = (typeof ROUTE_NAMES)[number];

export const CTL_HELP = `weir ctl, a client for the control API

Usage: weir ctl [options] COMMAND

Commands:
${commandLines(CTL.commands)}
Options:
${optionLines(CTL.options)}
${subcommandOptionLines(CTL.commands)}On a terminal the output is a table, in a pipe one line of JSON for each entry.
`;

const SELECTORS = ['outbound', 'inbound', 'session', 'user'] as const;

const parseCtl = subcommandParser(CTL, (name, values, operands) => ({
  command: toCommand(name, operands, values),
  search: searchOf(values),
  json: values.json ?? false,
}));

function toCommand(
  name: (typeof CTL.commands)[number]['name'],
  operands: readonly string[],
  values: Values,
) {
  switch (name) {
    case 'routes':
      // `names`: only those that `ctl pick` accepts, for the scripts of `weir completion`.
      return { kind: name, names: toRouteNames(values.names) };
    case 'reload':
    case 'traffic':
    case 'events':
    case 'version':
      return { kind: name };
    case 'connections':
      return { kind: name, sessions: values.sessions ?? false };
    case 'pick': {
      const [group = '', target = ''] = operands;
      if (group === '') throw new UsageError('ctl pick needs the name of a group');
      const { close = false, 'dry-run': dryRun = false, 'if-match': ifMatch } = values;
      if (dryRun && !close) throw new UsageError('--dry-run goes with --close');
      return { kind: name, group, target, ifMatch, close, dryRun };
    }
    case 'close':
      return toClose(operands, values);
    default:
      return name satisfies never;
  }
}

function toRouteNames(text: string | undefined): RouteNames | undefined {
  if (text === undefined) return undefined;
  const names = ROUTE_NAMES.find((one) => one === text);
  if (!names) throw new UsageError(`--names takes ${ROUTE_NAMES.join(' or ')}`);
  return names;
}

function toClose(flows: readonly string[], values: Values) {
  const selector = new Map<string, string>();
  for (const field of SELECTORS) {
    const value = values[field];
    if (value !== undefined) selector.set(field, value);
  }
  const ways = [flows.length > 0, selector.size > 0, values.all === true];
  if (ways.filter(Boolean).length !== 1) {
    throw new UsageError('ctl close needs either ids of flows, or selectors, or --all');
  }
  return { kind: 'close' as const, flows, selector };
}

type CtlCommand = ReturnType<typeof toCommand>;

type Values = SubcommandValues<typeof CTL>;

/**
 * Milliseconds to wait for names, because a shell waits for them during completion. On a busy machine Weir occasionally
 * takes more than one second, which should not prevent completion.
 */
export const NAMES_MS = 3000;

/**
 * `weir ctl`: a client of the API of a running Weir. Resolves with the exit status: 1 if a request
 * fails, with the API's error text on standard error.
 * @throws {UsageError}
 */
export async function ctl(
  argv: readonly string[],
  io: CommandIo,
  clock: Clock = systemClock,
): Promise<number> {
  const asked = parseCtl(argv);
  if (asked === undefined) {
    io.stdout.write(CTL_HELP);
    return 0;
  }
  const { command, search, json } = asked;
  const output = new CtlOutput(io.stdout, json || io.stdout.isTTY !== true);
  try {
    const running = await reach({ ...search, env: io.env });
    await carryOut(command, running, output, { env: io.env, clock });
    return 0;
  } catch (error) {
    // The reader has closed the output, which is not an error.
    if (output.closed) return 0;
    if (error instanceof UsageError || !(error instanceof WeirError)) throw error;
    const hints = hintsOf(error).map((hint) => `hint: ${printable(hint)}\n`);
    io.stderr.write(`${printableLines(`weir ctl: ${error.message}`)}\n${hints.join('')}`);
    return 1;
  }
}
ctl.parse = parseCtl;

/** Finds the API. A named API is used directly, whatever else runs on this host. */
async function reach(search: RunningSearch): Promise<Pick<RunningWeir, 'api' | 'socket'>> {
  const { config, socket, secretFile, env } = search;
  const named = search.api ?? (env['WEIR_API'] || undefined);
  if (named === undefined || config !== undefined) return findRunning(search);
  const secret =
    secretFile === undefined ? undefined : await readSecret(secretFile, '--secret-file');
  return { api: new ApiClient(parsePlace(named), secret), socket };
}

async function carryOut(
  command: CtlCommand,
  { api: client, socket }: Pick<RunningWeir, 'api' | 'socket'>,
  output: CtlOutput,
  { env, clock }: { readonly env: CommandIo['env']; readonly clock: Clock },
): Promise<void> {
  switch (command.kind) {
    case 'routes': {
      if (command.names) return routeNames(command.names, client, output, clock);
      const view = (await client.ask('GET', '/v1/routes')) as RouteView;
      return output.write([view], () => routesTable(view));
    }
    case 'pick':
      return pickRoute(command, client, output, { socket, env });
    case 'reload': {
      const report = (await client.ask('POST', '/v1/reload')) as ReloadReport;
      return output.write([report], () => reportTable(report));
    }
    case 'connections':
      return connections(command.sessions, client, output);
    case 'close':
      return close(command, client, output);
    case 'traffic':
      await output.head(TRAFFIC_HEAD);
      for await (const { data } of client.events('/v1/traffic')) {
        await output.write([data], () => trafficLine(data as TrafficView));
      }
      return;
    case 'events':
      for await (const { event, data } of client.events('/v1/connections/events')) {
        await output.write([{ event, data }], () => eventLine(event, data));
      }
      return;
    case 'version': {
      const response = (await client.ask('GET', '/v1/version')) as { version: string };
      return output.write([response], () => `${response.version}\n`);
    }
    default:
      return command satisfies never;
  }
}

async function routeNames(
  names: RouteNames,
  client: ApiClient,
  output: CtlOutput,
  clock: Clock,
): Promise<void> {
  using deadline = new Deadline(clock, NAMES_MS, 'the response');
  const { signal } = deadline;
  const { groups, targets } = (await client.ask('GET', '/v1/routes', { signal })) as RouteView;
  const all = (names === 'groups' ? groups : targets).map(({ name }) => name);
  await output.lines(names === 'groups' ? ['default', ...all] : all);
}

async function connections(
  ofSessions: boolean,
  client: ApiClient,
  output: CtlOutput,
): Promise<void> {
  const { sessions, flows } = (await client.ask('GET', '/v1/connections')) as {
    sessions: readonly SessionView[];
    flows: readonly FlowView[];
  };
  const now = Date.now();
  await (ofSessions
    ? output.write(sessions, () => sessionsTable(sessions, now))
    : output.write(flows, () => flowsTable(flows, now)));
}

async function close(
  { flows, selector }: CtlCommand & { kind: 'close' },
  client: ApiClient,
  output: CtlOutput,
): Promise<void> {
  let closed = flows.length;
  for (const flow of flows) {
    await client.ask('DELETE', `/v1/connections/${encodeURIComponent(flow)}`);
  }
  if (flows.length === 0) {
    const query = new URLSearchParams([...selector]).toString();
    const path = `/v1/connections${query === '' ? '' : `?${query}`}`;
    ({ closed } = (await client.ask('DELETE', path)) as { closed: number });
  }
  await output.write([{ closed }], () => `closed ${counted(closed, 'flow')}\n`);
}

type PickCommand = CtlCommand & { readonly kind: 'pick' };

/**
 * `weir ctl pick`; with `--close` it also closes the flows that the group had opened on its old target, once new flows
 * use the new one.
 */
async function pickRoute(
  command: PickCommand,
  client: ApiClient,
  output: CtlOutput,
  search: SocketSearch,
): Promise<void> {
  const { close, dryRun, ifMatch } = command;
  const pick = async (): Promise<void> =>
    write((await putPick(client, command, ifMatch)).report, output);
  if (!close) return pick();
  const { change } = await planPick(client, command);
  const socket = await needSocket(search);
  const { length: open } = await flowsLeft(client, socket, change);
  await output.write([{ open }], () => `${openText(command, change, open)}\n`);
  if (dryRun) return;
  await pick();
  // Requested again: flows have ended, and others have been opened before the switch.
  const closed = await closeFlows(client, await flowsLeft(client, socket, change));
  await output.write([{ closed }], () => `closed ${counted(closed, 'flow')}\n`);
}

const write = (report: ReloadReport, output: CtlOutput): Promise<void> =>
  output.write([report], () => reportTable(report));

function openText(
  { group, dryRun }: PickCommand,
  { from, to }: RouteSwitch,
  count: number,
): string {
  const open = count === 1 ? 'is open' : 'are open';
  const would = dryRun ? 'would be closed' : 'will be closed';
  return from === to
    ? `${quoted(group)} goes to ${quoted(to)} already: nothing to close`
    : `${counted(count, 'flow')} of ${quoted(group)} ${open} on ${quoted(from)} and ${would}`;
}

/** Writes results: as a table, or as one line of JSON each. */
class CtlOutput {
  readonly #stream: NodeJS.WritableStream;
  readonly #json: boolean;
  #closed = false;

  constructor(stream: NodeJS.WritableStream, json: boolean) {
    this.#stream = stream;
    this.#json = json;
    stream.once('error', () => {
      this.#closed = true;
    });
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Writes all values as one table, or each as a line of JSON. */
  async write(things: readonly unknown[], table: () => string): Promise<void> {
    const text = this.#json ? things.map((thing) => `${printableJson(thing)}\n`).join('') : table();
    await this.#put(text);
  }

  async #put(text: string): Promise<void> {
    if (this.#closed) throw new ApiClientError('the output has been closed');
    if (!this.#stream.write(text)) await once(this.#stream, 'drain');
  }

  /**
   * Writes texts unescaped, one per line; omits empty texts and those with unprintable characters.
   */
  async lines(texts: readonly string[]): Promise<void> {
    const whole = [...new Set(texts)].filter((text) => text !== '' && printable(text) === text);
    await this.#put(whole.map((text) => `${text}\n`).join(''));
  }

  /** Writes text only in table format. */
  async head(text: string): Promise<void> {
    if (!this.#json) await this.write([], () => text);
  }
}
