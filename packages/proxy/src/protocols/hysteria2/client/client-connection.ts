import { type Endpoint, formatEndpoint, shownEndpoint, shownForeign } from '@weir/io/addresses';
import type { RandomSource } from '@weir/base/random';
import { messageOf, WeirError } from '@weir/base';
import { Http3Client, Http3ErrorCode } from '@weir/http/http3';
import { BoundedReader, type ByteLink, type PacketLink, type WireCounter } from '@weir/io/links';
import { type Clock, type Timer, unlessAborted } from '@weir/io/time';
import { abortedDial, DialError, LinkClosedError } from '@weir/io';
import type { SocketObserver } from '@weir/io/sockets';
import { ConnectionEndedError, type QuicConnection, StreamFailedError } from '@weir/quic';
import { AUTHENTICATED, authenticationRequest, readTerms } from '../authentication.ts';
import { ASSOCIATION_SILENCE_MS, READER_LIMIT, RESPONSE_MS, SILENCE_MS } from '../limits.ts';
import type { DialRequest, DialServer } from '../quic-endpoints.ts';
import { UdpSessions } from '../udp-sessions.ts';
import { encodeTcpRequest, readTcpResponse } from '../wire.ts';
import { withAdvice } from '../../../transports/tls/tls-reason.ts';

/**
 * Detects an unreachable server before the idle timeout does. A QUIC endpoint acknowledges datagrams within
 * milliseconds (RFC 9221 §5.2), and is probed until it does (RFC 9002 §6.2): when nothing is received after a datagram
 * was sent, the server or the path is gone.
 */
class ServerSilence {
  readonly #clock: Clock;
  readonly #wire: WireCounter;
  readonly #onSilent: () => void;
  readonly #onDead: () => void;
  #timer: Timer | undefined;
  /** Bytes received before the watch began. */
  #received = 0;
  #isStopped = false;

  /**
   * @param onSilent called after SILENCE_MS without a byte.
   * @param onDead called after ASSOCIATION_SILENCE_MS without a byte, once.
   */
  constructor(clock: Clock, wire: WireCounter, onSilent: () => void, onDead: () => void) {
    this.#clock = clock;
    this.#wire = wire;
    this.#onSilent = onSilent;
    this.#onDead = onDead;
  }

  /** Called after each datagram; starts a watch unless one is running. */
  readonly onSent = (): void => {
    if (this.#timer || this.#isStopped) return;
    this.#received = this.#wire.bytesRead;
    this.#timer = this.#clock.after(SILENCE_MS, () => {
      this.#timer = undefined;
      if (!this.#isSilent) return;
      this.#onSilent();
      this.#timer = this.#clock.after(ASSOCIATION_SILENCE_MS - SILENCE_MS, () => {
        this.#timer = undefined;
        if (!this.#isSilent) return;
        this.stop();
        this.#onDead();
      });
    });
  };

  /** Ends the watch. Idempotent. */
  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  get #isSilent(): boolean {
    return this.#wire.bytesRead === this.#received;
  }
}

/**
 * The connection ended before the server responded: the request may be repeated on another
 * connection.
 */
export class RetryableRequestError extends WeirError {
  constructor(message: string, options?: ErrorOptions) {
    super('connection_lost', message, options);
  }
}

/** A connection whose handshake is complete. */
export interface EstablishedConnection {
  readonly connection: QuicConnection;
  readonly http: Http3Client;
  readonly udp: UdpSessions;
  /** Closes the connection and sends CONNECTION_CLOSE. */
  readonly close: () => void;
}

/**
 * Connects to one address of a server.
 *
 * @param onSocket called with the socket before anything is sent.
 * @param onWire called with the counter of the connection's bytes.
 * @param target the server, for messages.
 * @throws {DialError} when the server is not reached or not authenticated.
 */
export async function establish(
  request: Omit<DialRequest, 'handlers'>,
  dial: DialServer,
  target: Endpoint,
  {
    signal,
    onSocket,
    onWire,
  }: {
    readonly signal: AbortSignal;
    readonly onSocket?: SocketObserver | undefined;
    readonly onWire?: ((wire: WireCounter) => void) | undefined;
  },
): Promise<EstablishedConnection> {
  if (signal.aborted) throw abortedDial(signal, target);
  // Set below: nothing is received in the turn of the event loop in which the connection was created.
  const late: { made?: EstablishedConnection } = {};
  const dialled = await dial({
    ...request,
    handlers: {
      onStream: (stream) => late.made?.http.accept(stream),
      onDatagram: (data) => late.made?.udp.receive(data),
    },
  });
  const { connection } = dialled;
  onSocket?.(dialled.socket);
  onWire?.(connection.wire);
  const http = new Http3Client(connection);
  const udp = new UdpSessions(connection, request.random);
  const close = (): void => dialled.close(Http3ErrorCode.H3_NO_ERROR);
  const made = { connection, http, udp, close };
  late.made = made;
  try {
    await unlessAborted(connection.established, signal);
    return made;
  } catch (error) {
    close();
    if (signal.aborted) throw abortedDial(signal, target);
    throw handshakeFailure(error, target);
  }
}

/** The transport error codes of TLS alerts (RFC 9001 §4.8). */
const FIRST_CRYPTO_ERROR = 0x100;
const LAST_CRYPTO_ERROR = 0x1ff;
const CONNECTION_REFUSED = 0x02;

function handshakeFailure(error: unknown, target: Endpoint): DialError {
  const fail = (code: DialError['code'], what: string): DialError =>
    new DialError(code, `${shownEndpoint(target)}: ${what}`, { cause: error });
  if (!(error instanceof ConnectionEndedError))
    return fail('upstream', `QUIC: ${messageOf(error)}`);
  const { kind, code, reason } = error.closeReason;
  if (kind === 'idle') return fail('timed_out', 'the server does not respond');
  if (kind !== 'transport') return fail('upstream', `QUIC: ${error.message}`);
  if (code === CONNECTION_REFUSED) return fail('refused', 'the server refused the connection');
  const isTls = code >= FIRST_CRYPTO_ERROR && code <= LAST_CRYPTO_ERROR && reason !== '';
  return fail('upstream', isTls ? `TLS: ${withAdvice(reason)}` : `QUIC: ${error.message}`);
}

/** Dependencies of an authenticated connection besides QUIC. */
export interface ClientParts {
  readonly clock: Clock;
  readonly random: RandomSource;
  /** The server, for messages. */
  readonly target: Endpoint;
}

/**
 * An authenticated connection to a server: TCP streams, and UDP sessions if the server relays UDP.
 */
export class ClientConnection {
  /** Resolves when the connection has ended. */
  readonly ended: Promise<void>;
  readonly #connection: QuicConnection;
  readonly #close: () => void;
  readonly #udp: UdpSessions;
  readonly #relaysUdp: boolean;
  readonly #parts: ClientParts;
  readonly #silence: ServerSilence;
  #isUsable = true;

  private constructor(
    { connection, udp, close }: EstablishedConnection,
    relaysUdp: boolean,
    parts: ClientParts,
  ) {
    this.#connection = connection;
    this.#close = close;
    this.#udp = udp;
    this.#relaysUdp = relaysUdp;
    this.#parts = parts;
    this.#silence = new ServerSilence(
      parts.clock,
      connection.wire,
      () => (this.#isUsable = false),
      () => udp.close(new RetryableRequestError('the server is silent')),
    );
    this.ended = connection.closed.then((reason) => {
      this.#isUsable = false;
      this.#silence.stop();
      udp.close(new ConnectionEndedError(reason));
    });
  }

  /**
   * Authenticates; closes the connection when that fails.
   * @throws {DialError} `upstream` when the server does not accept the password.
   */
  static async authenticate(
    established: EstablishedConnection,
    password: string,
    parts: ClientParts,
    signal: AbortSignal,
  ): Promise<ClientConnection> {
    const { http, close } = established;
    const { random, target } = parts;
    try {
      const response = await http.request(authenticationRequest(password, random), signal);
      if (response.status !== AUTHENTICATED) {
        const what = `the server rejected the password (HTTP status ${response.status})`;
        throw new DialError('upstream', `${shownEndpoint(target)}: ${what}`);
      }
      http.release();
      return new ClientConnection(established, readTerms(response).udp, parts);
    } catch (error) {
      close();
      if (error instanceof DialError) throw error;
      if (signal.aborted) throw abortedDial(signal, target);
      const what = `authentication: ${messageOf(error)}`;
      throw new DialError('upstream', `${shownEndpoint(target)}: ${what}`, { cause: error });
    }
  }

  /** Whether new flows may use the connection. */
  get isUsable(): boolean {
    return this.#isUsable;
  }

  /**
   * Opens a stream to a destination and waits for the server's response, at most RESPONSE_MS if the server is alive; an
   * error in a later response fails the link.
   *
   * @throws {RetryableRequestError} when the connection ends, or its server is silent.
   * @throws {DialError} when the server does not reach the destination.
   */
  async connect(destination: Endpoint, signal: AbortSignal): Promise<ByteLink> {
    const { random, target } = this.#parts;
    let stream: ByteLink | undefined;
    const waiting = new AbortController();
    const onAbort = (): void => waiting.abort(signal.reason);
    try {
      stream = await this.#connection.openStream('bidirectional', signal);
      signal.addEventListener('abort', onAbort);
      using patience = this.#patience((reason) => waiting.abort(reason));
      await stream.write(encodeTcpRequest(formatEndpoint(destination), random));
      const response = this.#response(stream, waiting.signal);
      const isEarly = await Promise.race([response.then(() => true), patience.over]);
      if (isEarly) return stream;
      const late = response.catch((error: unknown) => {
        throw error instanceof DialError ? error : this.#streamFailure(error);
      });
      return new LateResponseLink(stream, late);
    } catch (error) {
      stream?.destroy();
      if (error instanceof DialError || error instanceof RetryableRequestError) throw error;
      if (signal.aborted) throw stream ? abortedDial(signal, target) : noStream(signal, target);
      if (error instanceof ConnectionEndedError) {
        throw new RetryableRequestError(error.message, { cause: error });
      }
      throw this.#streamFailure(error);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Reads the response, after which the stream carries the destination's data. */
  async #response(stream: ByteLink, signal: AbortSignal): Promise<void> {
    const reader = new BoundedReader(stream, READER_LIMIT, signal);
    const { ok, message } = await readTcpResponse(reader);
    if (!ok) throw new DialError('upstream', reasonOf(message, this.#parts.target));
    reader.release();
  }

  /**
   * Limits the wait for a response: `over` resolves after a multiple of RESPONSE_MS, once anything was received. A
   * server that is silent for SILENCE_MS counts as gone.
   */
  #patience(onSilence: (reason: RetryableRequestError) => void): Disposable & {
    readonly over: Promise<false>;
  } {
    const { clock } = this.#parts;
    const { wire } = this.#connection;
    const received = wire.bytesRead;
    const isSilent = (): boolean => wire.bytesRead <= received;
    const { promise: over, resolve } = Promise.withResolvers<false>();
    const arm = (): Timer =>
      clock.after(RESPONSE_MS, () => {
        if (isSilent()) response = arm();
        else resolve(false);
      });
    let response = arm();
    const silence = clock.after(SILENCE_MS, () => {
      if (!isSilent()) return;
      this.#isUsable = false;
      onSilence(new RetryableRequestError('the server is silent'));
    });
    return {
      over,
      [Symbol.dispose]: () => {
        response.cancel();
        silence.cancel();
      },
    };
  }

  #streamFailure(error: unknown): DialError {
    const what = error instanceof StreamFailedError ? 'the server rejected the stream: ' : '';
    const text = `${shownEndpoint(this.#parts.target)}: ${what}${messageOf(error)}`;
    return new DialError('upstream', text, { cause: error });
  }

  /**
   * Opens a UDP session.
   * @throws {RetryableRequestError} when the connection has ended, or its server is silent.
   * @throws {DialError} `unsupported` when the server relays no UDP.
   */
  associate(): PacketLink {
    if (!this.#isUsable) throw new RetryableRequestError('the connection was lost');
    if (this.#relaysUdp && this.#connection.maxDatagramSize > 0)
      return this.#udp.open(this.#silence.onSent);
    const text = `${shownEndpoint(this.#parts.target)}: the server relays no UDP`;
    throw new DialError('unsupported', text);
  }

  /** Closes the connection with all its flows. */
  close(): void {
    this.#isUsable = false;
    this.#close();
  }
}

/** Returns the error when no stream was opened in time: the server's limit of streams was reached. */
function noStream(signal: AbortSignal, target: Endpoint): DialError {
  const aborted = abortedDial(signal, target);
  if (aborted.code !== 'timed_out') return aborted;
  const text = `${shownEndpoint(target)}: the server allows no more streams at once`;
  return new DialError('timed_out', text, { cause: signal.reason });
}

const LONGEST_MESSAGE = 256;

/** Returns the server's message, prefixed with its name unless the message has it already. */
function reasonOf(message: string, target: Endpoint): string {
  const server = `${shownEndpoint(target)}: `;
  const reason = shownForeign(inOneLine(message));
  return reason.startsWith(server) ? reason : server + reason;
}

/** Returns the server's message on one line, for logs. */
const inOneLine = (message: string): string =>
  message.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').slice(0, LONGEST_MESSAGE);

/**
 * A stream whose response is still pending: a server may send it with the destination's first data (mihomo's listener),
 * which many destinations send only once they have received some. Writes pass; reads wait for the response. An error in
 * the response fails the link.
 */
class LateResponseLink implements ByteLink {
  readonly #stream: ByteLink;
  /** Pending until the response was read, then `undefined`. */
  #response: Promise<void> | undefined;
  #isReading = false;
  /** Whether written data is still being delivered, although nothing is read. */
  #isReset = false;

  /** @param response resolves once a successful response was read, and rejects otherwise. */
  constructor(stream: ByteLink, response: Promise<void>) {
    this.#stream = stream;
    this.#response = response;
    response.then(
      () => (this.#response = undefined),
      (error: Error) => {
        if (!this.#isReset) stream.destroy(error);
      },
    );
  }

  get closed(): Promise<Error | undefined> {
    return this.#stream.closed;
  }

  read(signal?: AbortSignal): Promise<Uint8Array | undefined> {
    return this.#response && !this.#isReading
      ? this.#firstRead(this.#response, signal)
      : this.#laterRead(signal);
  }

  unread(chunk: Uint8Array): void {
    if (this.#response) throw new RangeError('nothing was read that could be put back');
    this.#stream.unread(chunk);
  }

  takeAhead(): Uint8Array | undefined {
    return this.#response ? undefined : this.#stream.takeAhead?.();
  }

  write(chunk: Uint8Array, isOwned?: boolean): Promise<void> | undefined {
    return this.#stream.write(chunk, isOwned);
  }

  writeOutput(chunks: readonly Uint8Array[], isOwned?: boolean): Promise<void> | undefined {
    return this.#stream.writeOutput(chunks, isOwned);
  }

  closeWrite(): Promise<void> {
    return this.#stream.closeWrite();
  }

  destroy(cause?: Error): void {
    this.#stream.destroy(cause);
  }

  resetAfterData(cause: Error): void {
    this.#isReset = true;
    this.#stream.resetAfterData(cause);
  }

  async #firstRead(
    response: Promise<void>,
    signal: AbortSignal | undefined,
  ): Promise<Uint8Array | undefined> {
    this.#isReading = true;
    try {
      await unlessAborted(response, signal);
    } finally {
      this.#isReading = false;
    }
    return this.#stream.read(signal);
  }

  #laterRead(signal: AbortSignal | undefined): Promise<Uint8Array | undefined> {
    if (this.#isReading) return Promise.reject(new LinkClosedError('a read is already pending'));
    return this.#stream.read(signal);
  }
}
