import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { messageOf, WeirError } from '../../errors.ts';
import { bindReason } from '../../transports/listeners/bind-error.ts';
import { bindUnixSocket } from '../../transports/listeners/unix-socket.ts';
import type { ReloadOutcome } from '../outcomes.ts';

/** The requests, of one line each; every response is one line of JSON. */
export interface SocketWords {
  /** `reload`: the outcome. Must not reject. */
  readonly reload: () => Promise<ReloadOutcome>;
  /** `log-level FILTER`. @throws {RangeError} for a text that is not a filter */
  readonly setLogFilter: (text: string) => void;
}

/** Bytes of a request; a log filter may name several targets. */
const MAX_REQUEST = 4096;

/** Time limit for a client to send its request. */
const REQUEST_MS = 5_000;
/** Clients at a time; their reloads run one after the other. */
const MAX_CLIENTS = 16;

/**
 * The unix socket of `weir reload`, which requests a reload and gets its outcome without an `[api]`, and of
 * `weir log-level`, which replaces the filter of the log. Only the user of the process and root can connect.
 */
export class ReloadSocket {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /**
   * Binds and serves. The socket file of a process that has ended is replaced.
   *
   * @throws {WeirError} with the reason
   */
  static async open(path: string, words: SocketWords): Promise<ReloadSocket> {
    const server = createServer((client) => serve(client, words));
    server.maxConnections = MAX_CLIENTS;
    try {
      const bind = async (): Promise<void> => {
        server.listen({ path });
        await once(server, 'listening');
      };
      await bindUnixSocket(path, bind, 0o600);
    } catch (error) {
      server.close();
      throw new WeirError('bind', `reload socket ${path}: ${bindReason(error)}`, { cause: error });
    }
    server.on('error', () => undefined); // a failed accept loses one client
    return new ReloadSocket(server);
  }

  /** Accepts no more clients, and removes the socket file. */
  close(): void {
    this.#server.close();
  }
}

function serve(client: Socket, words: SocketWords): void {
  let request = '';
  client.on('error', () => undefined);
  client.setTimeout(REQUEST_MS, () => client.destroy());
  client.setEncoding('utf8').on('data', (text: string) => {
    request += text;
    const end = request.indexOf('\n');
    if (end < 0 && request.length < MAX_REQUEST) return;
    const response = end < 0 ? undefined : respond(request.slice(0, end), words);
    if (!response || end + 1 < request.length) {
      client.destroy();
      return;
    }
    client.removeAllListeners('data').resume().setTimeout(0);
    void response.then((outcome) => client.end(`${JSON.stringify(outcome)}\n`));
  });
}

const LOG_LEVEL = 'log-level ';

/** `undefined` for a line that is not a request. */
function respond(line: string, words: SocketWords): Promise<ReloadOutcome> | undefined {
  if (line === 'reload') return words.reload();
  if (line.startsWith(LOG_LEVEL)) {
    return Promise.resolve(setFilter(line.slice(LOG_LEVEL.length), words));
  }
  return undefined;
}

function setFilter(text: string, words: SocketWords): ReloadOutcome {
  try {
    words.setLogFilter(text);
    return { kind: 'applied', summary: text };
  } catch (error) {
    if (error instanceof RangeError) return { kind: 'failed', line: error.message };
    throw error;
  }
}

/** The outcome of a request is unknown. */
export class ReloadRequestError extends WeirError {
  constructor(what: string, path: string, reason: string, options?: ErrorOptions) {
    super('reload_request', `no ${what} through ${path}: ${reason}`, options);
  }
}

/** More than any outcome has. */
const MAX_RESPONSE = 1 << 20;

/**
 * Requests a reload of the process that serves `path`, and waits for its end without a time limit.
 * @throws {ReloadRequestError}
 */
export const requestReload = (client: Socket, path: string): Promise<ReloadOutcome> =>
  request(client, path, 'reload', 'reload');

/**
 * Requests another log filter of the process that serves `path`.
 * @throws {ReloadRequestError} unless it has applied or refused the filter
 */
export const requestLogFilter = (
  client: Socket,
  path: string,
  filter: string,
): Promise<ReloadOutcome> => request(client, path, LOG_LEVEL + filter, 'change of the log level');

async function request(
  client: Socket,
  path: string,
  line: string,
  what: string,
): Promise<ReloadOutcome> {
  let text = '';
  try {
    client.connect({ path });
    await once(client, 'connect');
    client.write(`${line}\n`);
    for await (const chunk of client.setEncoding('utf8')) {
      text += String(chunk);
      if (text.length > MAX_RESPONSE) break;
    }
  } catch (error) {
    throw new ReloadRequestError(what, path, messageOf(error), { cause: error });
  } finally {
    client.destroy();
  }
  const outcome = toOutcome(text);
  if (!outcome) throw new ReloadRequestError(what, path, 'the process gave no outcome');
  return outcome;
}

/** `undefined` for anything but a whole response. */
function toOutcome(text: string): ReloadOutcome | undefined {
  if (!text.endsWith('\n')) return undefined;
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof parsed !== 'object' || parsed === null || !('kind' in parsed)) return undefined;
  switch (parsed.kind) {
    case 'applied':
      return 'summary' in parsed && typeof parsed.summary === 'string'
        ? { kind: 'applied', summary: parsed.summary }
        : undefined;
    case 'unchanged':
      return { kind: 'unchanged' };
    case 'failed':
      return 'line' in parsed && typeof parsed.line === 'string'
        ? { kind: 'failed', line: parsed.line }
        : undefined;
    default:
      return undefined;
  }
}
