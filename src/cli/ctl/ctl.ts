import type { FlowView, SessionView, TrafficView } from '../../api/views.ts';
import type { RouteView } from '../../config/route-view.ts';
import { UsageError, WeirError, hintsOf } from '../../errors.ts';
import { systemClock, type Clock } from '../../net/time/clock.ts';
import { Deadline } from '../../net/time/deadline.ts';
import { printable, printableLines } from '../../printable.ts';
import type { ReloadReport } from '../../supervisor/reload-report.ts';
import type { CommandIo } from '../command.ts';
import { CTL_HELP, parseCtl, type CtlCommand, type RouteNames } from './arguments.ts';
import { ApiClient, parsePlace, readSecret } from '../../client/api-client.ts';
import { findRunning, type RunningSearch, type RunningWeir } from '../../client/find-running.ts';
import { counted } from '../../text/amounts.ts';
import { CtlOutput } from './output.ts';
import { pickRoute } from './pick.ts';
import {
  TRAFFIC_HEAD,
  eventLine,
  flowsTable,
  reportTable,
  routesTable,
  sessionsTable,
  trafficLine,
} from './views.ts';

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
  const { command, search, json } = parseCtl(argv);
  if (command.kind === 'help') {
    io.stdout.write(CTL_HELP);
    return 0;
  }
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

/** Finds the API. A named API is used directly, whatever else runs on this host. */
async function reach(search: RunningSearch): Promise<Pick<RunningWeir, 'api' | 'socket'>> {
  const { config, socket, secretFile, env } = search;
  const named = search.api ?? (env['WEIR_API'] || undefined);
  if (named === undefined || config !== undefined) return findRunning(search);
  const secret = secretFile === undefined ? undefined : await readSecret(secretFile);
  return { api: new ApiClient(parsePlace(named), secret), socket };
}

async function carryOut(
  command: CtlCommand,
  { api: client, socket }: Pick<RunningWeir, 'api' | 'socket'>,
  output: CtlOutput,
  { env, clock }: { readonly env: CommandIo['env']; readonly clock: Clock },
): Promise<void> {
  switch (command.kind) {
    case 'help':
      return;
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
