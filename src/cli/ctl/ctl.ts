import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { RouteView } from '../../config/route-view.ts';
import { WeirError, hintsOf, messageOf } from '../../errors.ts';
import { printable, printableJson, printableLines } from '../../printable.ts';
import type { ReloadReport } from '../../supervisor/reload-report.ts';
import type { CommandIo } from '../command.ts';
import {
  CTL_HELP,
  parseCtl,
  type CtlArguments,
  type CtlCommand,
  type RouteNames,
} from './arguments.ts';
import { CtlClient, CtlError, parsePlace } from './client.ts';
import {
  TRAFFIC_HEAD,
  eventLine,
  flowsTable,
  reportTable,
  routesTable,
  sessionsTable,
  trafficLine,
  type FlowJson,
  type SessionJson,
  type TrafficJson,
} from './views.ts';

/** Milliseconds for names, because a shell waits for them during completion. */
const NAMES_MS = 1000;

/**
 * `weir ctl`: a client of the API of a running Weir. Resolves with the exit status: 1 if a request
 * fails, with the API's error text on standard error.
 * @throws {UsageError}
 */
export async function ctl(argv: readonly string[], io: CommandIo): Promise<number> {
  const { command, api, secretFile, json } = parseCtl(argv);
  if (command.kind === 'help') {
    io.stdout.write(CTL_HELP);
    return 0;
  }
  const output = new CtlOutput(io.stdout, json || io.stdout.isTTY !== true);
  const place = parsePlace(api ?? io.env['WEIR_API']);
  try {
    await carryOut(command, new CtlClient(place, await readSecret(secretFile)), output);
    return 0;
  } catch (error) {
    // The reader has closed the output, which is not an error.
    if (output.closed) return 0;
    if (!(error instanceof WeirError)) throw error;
    const hints = hintsOf(error).map((hint) => `hint: ${hint}\n`);
    io.stderr.write(`${printableLines(`weir ctl: ${error.message}`)}\n${hints.join('')}`);
    return 1;
  }
}

async function readSecret(file: CtlArguments['secretFile']): Promise<string | undefined> {
  if (file === undefined) return undefined;
  try {
    return (await readFile(file, 'utf8')).replace(/\r?\n$/, '');
  } catch (error) {
    throw new CtlError(`cannot read the secret: ${messageOf(error)}`, { cause: error });
  }
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
    if (this.#closed) throw new CtlError('the output has been closed');
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

async function carryOut(command: CtlCommand, client: CtlClient, output: CtlOutput): Promise<void> {
  switch (command.kind) {
    case 'help':
      return;
    case 'routes': {
      if (command.names) return routeNames(command.names, client, output);
      const view = (await client.ask('GET', '/v1/routes')) as RouteView;
      return output.write([view], () => routesTable(view));
    }
    case 'pick':
      return pick(command, client, output);
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
        await output.write([data], () => trafficLine(data as TrafficJson));
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

async function routeNames(names: RouteNames, client: CtlClient, output: CtlOutput): Promise<void> {
  const signal = AbortSignal.timeout(NAMES_MS);
  const { groups, targets } = (await client.ask('GET', '/v1/routes', { signal })) as RouteView;
  const all = (names === 'groups' ? groups : targets).map(({ name }) => name);
  await output.lines(names === 'groups' ? ['default', ...all] : all);
}

async function pick(
  { group, target, ifMatch }: CtlCommand & { kind: 'pick' },
  client: CtlClient,
  output: CtlOutput,
): Promise<void> {
  const path = `/v1/routes/${encodeURIComponent(group)}`;
  const report = (await client.ask('PUT', path, { body: { target }, ifMatch })) as ReloadReport;
  await output.write([report], () => reportTable(report));
}

async function connections(
  ofSessions: boolean,
  client: CtlClient,
  output: CtlOutput,
): Promise<void> {
  const { sessions, flows } = (await client.ask('GET', '/v1/connections')) as {
    sessions: readonly SessionJson[];
    flows: readonly FlowJson[];
  };
  const now = Date.now();
  await (ofSessions
    ? output.write(sessions, () => sessionsTable(sessions, now))
    : output.write(flows, () => flowsTable(flows, now)));
}

async function close(
  { flows, selector }: CtlCommand & { kind: 'close' },
  client: CtlClient,
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
  await output.write([{ closed }], () => `closed ${closed} ${closed === 1 ? 'flow' : 'flows'}\n`);
}
