import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { messageOf, WeirError } from '../../errors.ts';
import { printable } from '../../printable.ts';
import { bindReason } from '../../transports/listeners/bind-error.ts';
import { bindUnixSocket } from '../../transports/listeners/unix-socket.ts';
import type { ReloadOutcome } from '../outcomes.ts';

/**
 * Handlers of the requests, each of which is one line. Every response is one line of JSON; after that of `connect` the
 * bytes of the flow follow, and `log` responds with a line per log line.
 */
export interface ControlWords {
  /** `reload`, `reload CAUSE`: resolves to the outcome. Must not reject. */
  readonly reload: (cause: string | undefined) => Promise<ReloadOutcome>;
  /** `log-level FILTER`. @throws {RangeError} for a text that is not a filter */
  readonly setLogFilter: (text: string) => void;
  /** `status`: resolves to a value for JSON. */
  readonly status: () => Promise<unknown>;
  /** `drain ACTION`: resolves to a value for JSON. */
  readonly drain: (action: string) => Promise<unknown>;
  /** `user-flows REQUEST`: resolves to a value for JSON. */
  readonly userFlows: (request: string) => Promise<unknown>;
  /** `log REQUEST`: takes over the client, whose socket is paused. Rejects if it cannot. */
  readonly log: (request: string, client: Socket) => Promise<void>;
  /** `profile REQUEST`: takes over the client, whose socket is paused. Rejects if it cannot. */
  readonly profile: (request: string, client: Socket) => Promise<void>;
  /** `loaded-files`: resolves to a value for JSON. */
  readonly loadedFiles: () => Promise<unknown>;
  /**
   * `connect REQUEST`: takes over the client, whose socket is paused, with any data behind the request line unshifted.
   * Must not reject.
   */
  readonly connect: (request: string, client: Socket) => Promise<void>;
}

/** Maximum bytes of a request; a log filter may name several targets. */
export const MAX_REQUEST = 4096;
/** Maximum bytes of the cause of a reload, in UTF-8. */
export const MAX_CAUSE = 512;

/** Milliseconds for a client to send its request, and to read a response. */
const REQUEST_MS = 5_000;
/** Maximum number of clients, most of which may have tunnels; their reloads are serialised. */
const MAX_CLIENTS = 160;

const LINE_FEED = 0x0a;

/**
 * The unix socket for querying and controlling a running Weir without an `[api]`. `weir reload`, `weir log-level`,
 * `weir log` and `weir status` use it, and commands that fetch through an outbound. Only the user of the process and
 * root can connect.
 */
export class ControlSocket {
  readonly path: string;
  readonly #server: Server;
  readonly #clients = new Set<Socket>();

  private constructor(path: string, words: ControlWords) {
    this.path = path;
    // A client may half-close after its request, and a flow may be half-closed.
    this.#server = createServer({ allowHalfOpen: true }, (client) => {
      this.#clients.add(client);
      client.once('close', () => this.#clients.delete(client));
      serve(client, words);
    });
    this.#server.maxConnections = MAX_CLIENTS;
  }

  /**
   * Binds and serves. The socket file of an ended process is replaced.
   *
   * @throws {WeirError} with the reason
   */
  static async open(path: string, words: ControlWords): Promise<ControlSocket> {
    const socket = new ControlSocket(path, words);
    const server = socket.#server;
    try {
      const bind = async (): Promise<void> => {
        server.listen({ path });
        await once(server, 'listening');
      };
      await bindUnixSocket(path, bind, 0o600);
    } catch (error) {
      server.close();
      throw new WeirError('bind', `control socket ${path}: ${bindReason(error)}`, { cause: error });
    }
    server.on('error', () => undefined); // a failed accept loses one client
    return socket;
  }

  /** Stops accepting clients, disconnects the current ones, and removes the socket file. */
  close(): void {
    this.#server.close();
    for (const client of this.#clients) client.destroy();
  }
}

/** Reads the request of a client; a client that sends an invalid one, or none in time, is disconnected. */
function serve(client: Socket, words: ControlWords): void {
  let read: Buffer = Buffer.alloc(0);
  client.on('error', () => undefined);
  client.setTimeout(REQUEST_MS, () => client.destroy());
  const onData = (chunk: Buffer): void => {
    read = read.length === 0 ? chunk : Buffer.concat([read, chunk]);
    const end = read.indexOf(LINE_FEED);
    if (end < 0 ? read.length >= MAX_REQUEST : end >= MAX_REQUEST) client.destroy();
    if (end < 0 || client.destroyed) return;
    client.off('data', onData).off('end', onEnd).pause();
    respond(read.subarray(0, end).toString(), read.subarray(end + 1), client, words);
  };
  const onEnd = (): void => void client.destroy();
  client.on('data', onData).on('end', onEnd);
}

const RELOAD = 'reload';
const LOG_LEVEL = 'log-level ';
const CONNECT = 'connect ';
const USER_FLOWS = 'user-flows ';
const DRAIN = 'drain ';
const LOG = 'log ';
const PROFILE = 'profile ';

/** Responds to a request line. @param ahead data that the client sent behind its line: expected only for a flow */
function respond(line: string, ahead: Buffer, client: Socket, words: ControlWords): void {
  if (line.startsWith(CONNECT)) {
    client.setTimeout(0);
    if (ahead.length > 0) client.unshift(ahead);
    void words.connect(line.slice(CONNECT.length), client);
    return;
  }
  const isAlone = ahead.length === 0;
  for (const [word, serveClient] of [
    [LOG, words.log],
    [PROFILE, words.profile],
  ] as const) {
    if (!isAlone || !line.startsWith(word)) continue;
    client.setTimeout(0);
    serveClient(line.slice(word.length), client).catch((error: unknown) => fail(client, error));
    return;
  }
  const response = isAlone ? responseTo(line, words) : undefined;
  if (!response) {
    client.destroy();
    return;
  }
  client.resume().setTimeout(0);
  void response.then(
    (value) => reply(client, value),
    (error: unknown) => fail(client, error),
  );
}

function reply(client: Socket, value: unknown): void {
  client.setTimeout(REQUEST_MS);
  client.resume().end(`${JSON.stringify(value)}\n`);
}

/** Responds with an internal error: without a response the command would have to assume that the process has ended. */
const fail = (client: Socket, error: unknown): void =>
  reply(client, { kind: 'failed', line: `internal error: ${messageOf(error)}` });

/** The response to a request line; `undefined` for a line that is not a request. */
function responseTo(line: string, words: ControlWords): Promise<unknown> | undefined {
  if (line === RELOAD) return words.reload(undefined);
  if (line.startsWith(`${RELOAD} `)) {
    const cause = line.slice(RELOAD.length + 1);
    const problem = problemOfCause(cause);
    return problem === undefined
      ? words.reload(cause)
      : Promise.resolve({ kind: 'failed', line: problem } satisfies ReloadOutcome);
  }
  if (line === 'status') return words.status();
  if (line === 'loaded-files') return words.loadedFiles();
  if (line.startsWith(DRAIN)) return words.drain(line.slice(DRAIN.length));
  if (line.startsWith(USER_FLOWS)) return words.userFlows(line.slice(USER_FLOWS.length));
  if (line.startsWith(LOG_LEVEL)) {
    return Promise.resolve(setFilter(line.slice(LOG_LEVEL.length), words));
  }
  return undefined;
}

/** Why a text is invalid as the cause of a reload; `undefined` if it is valid. */
export function problemOfCause(cause: string): string | undefined {
  if (cause.trim() === '') return 'the cause of the reload is empty';
  if (printable(cause) !== cause) return 'the cause of the reload has unprintable characters';
  return Buffer.byteLength(cause) > MAX_CAUSE
    ? `the cause of the reload is longer than ${MAX_CAUSE} bytes`
    : undefined;
}

function setFilter(text: string, words: ControlWords): ReloadOutcome {
  try {
    words.setLogFilter(text);
    return { kind: 'applied', summary: text };
  } catch (error) {
    if (error instanceof RangeError) return { kind: 'failed', line: messageOf(error) };
    throw error;
  }
}
