import type { RandomSource } from '../crypto/random-source.ts';
import type { Ecn } from '../ip/datagram-socket.ts';
import type { IpEndpoint } from '../ip/ip-endpoint.ts';
import type { ConnectionEvent } from './connection-events.ts';
import type { ConnectionSettings } from './connection-settings.ts';
import type { ConnectionState } from './connection-state.ts';
import type { CloseReason } from './contract.ts';
import type { END_OF_STREAM } from './streams/streams.ts';
import type { ClientTls, ServerTls } from './tls-port.ts';
import type { Trace } from './trace.ts';
import type { TransmitBatch } from './transmit-batch.ts';

/** An id under which packets reach a connection, as its endpoint makes and registers it. */
export interface IssuedId {
  readonly id: Uint8Array;
  /** 16 bytes; what the endpoint would send as a stateless reset for this id. */
  readonly resetToken: Uint8Array;
}

/** The ids of one connection at its endpoint; all have the same number of bytes. */
export interface IdIssuer {
  /** Makes a new id and routes its packets to the connection from now on. */
  issue(): IssuedId;
  /** Routes the packets of this id to the connection no longer. */
  release(id: Uint8Array): void;
}

interface CommonOptions {
  readonly settings: ConnectionSettings;
  readonly random: RandomSource;
  readonly ids: IdIssuer;
  readonly remote: IpEndpoint;
  /** The own address that the peer sends to, where it is known. */
  readonly local?: IpEndpoint | undefined;
  readonly now: number;
  readonly trace?: Trace | undefined;
}

export interface ClientOptions extends CommonOptions {
  readonly tls: ClientTls;
  /** From an earlier connection's `token` event. */
  readonly token?: Uint8Array | undefined;
}

export interface ServerOptions extends CommonOptions {
  readonly tls: ServerTls;
  /** The destination id of the client's very first Initial packet: of the token, if a Retry was sent. */
  readonly originalId: Uint8Array;
  /** The source id of the Retry that was sent, which the Initial now has as its destination. */
  readonly retrySourceId?: Uint8Array | undefined;
  /** The source id of the client's Initial packet. */
  readonly clientId: Uint8Array;
  /** Whether a token has validated the client's address (RFC 9000 §8.1.2). */
  readonly isValidated: boolean;
  /** Makes a token for NEW_TOKEN (§8.1.3), once; without it none is sent. */
  readonly makeToken?: ((remote: IpEndpoint, now: number) => Uint8Array) | undefined;
}

/** Counts since the connection was made. Bytes are UDP payload. */
export interface ConnectionStatistics {
  readonly bytesSent: number;
  readonly bytesReceived: number;
  readonly datagramsSent: number;
  readonly datagramsReceived: number;
  readonly packetsLost: number;
  readonly packetsDropped: number;
  readonly inFlight: number;
  readonly window: number;
  /** Bytes per millisecond. */
  readonly pacingRate: number;
  readonly smoothedRtt: number;
  readonly minimumRtt: number;
  readonly datagramSize: number;
}

/**
 * A QUIC connection (RFC 9000), without a socket, a clock or a timer: a driver passes datagrams in,
 * sends what `transmit` assembles, calls `onTimeout` at `nextTimeout()`, and handles the events. Times are
 * milliseconds of one clock that never goes back. Nothing that a peer sends makes a method throw.
 *
 * After every call but the pure queries: `transmit` until it returns false, events until there are none,
 * and `transmit` again if the handling of events has queued anything; then `nextTimeout`.
 */
export declare class Connection {
  static client(options: ClientOptions): Connection;
  /** For a client's first Initial packet, which is then passed to `receive`. */
  static server(options: ServerOptions): Connection;

  readonly role: 'client' | 'server';
  readonly state: ConnectionState;
  /** The peer's address of the path in use. */
  readonly remote: IpEndpoint;
  readonly local: IpEndpoint | undefined;

  // ---- the driver's calls ----

  /**
   * Takes a datagram of the peer. Its bytes are decrypted in place; they are not used after the call.
   * @param own the address that it was sent to, where known.
   */
  receive(
    buffer: Uint8Array,
    offset: number,
    length: number,
    peer: IpEndpoint,
    own: IpEndpoint | undefined,
    ecn: Ecn,
    now: number,
  ): void;
  /** Whether a datagram for no known id is a stateless reset by this peer (§10.3.1); `receive` checks too. */
  isStatelessReset(buffer: Uint8Array, offset: number, length: number): boolean;
  /** Fills `out` with what may leave now, for one send. False when there is nothing. */
  transmit(now: number, out: TransmitBatch): boolean;
  /** When `onTimeout` is to be called, and `transmit` after it; Infinity for not at all. */
  nextTimeout(): number;
  /** Does what is due; before `nextTimeout()` it does nothing. */
  onTimeout(now: number): void;
  /** The next event; `undefined` when there is none. */
  nextEvent(): ConnectionEvent | undefined;
  /** The system refused a datagram of this size (EMSGSIZE). */
  onTooLarge(bytes: number, now: number): void;
  /** Ends everything at once and sends nothing: the socket is gone. */
  abandon(now: number): void;

  // ---- the application's calls; see `Streams` and `Datagrams` ----

  openStream(bidirectional: boolean): number | undefined;
  write(id: number, chunk: Uint8Array): boolean | undefined;
  /** Bytes of a stream that were written and not sent. */
  queued(id: number): number;
  finish(id: number): void;
  reset(id: number, code: number): void;
  read(id: number): Uint8Array | typeof END_OF_STREAM | undefined;
  stopSending(id: number, code: number): void;
  sendDatagram(data: Uint8Array): boolean;
  readonly maxDatagramSize: number;
  /** Sends at this many bytes a second from now on, whatever is lost. */
  useFixedRate(bytesPerSecond: number): void;
  /** Ends the connection with an error code of the application (§10.2). Idempotent. */
  close(code: number, reason: string, now: number): void;
  /** The same with a code of §20.1: NO_ERROR, or e.g. CONNECTION_REFUSED by a server. */
  closeTransport(code: number, reason: string, now: number): void;
  /** Why it has ended; `undefined` while it has not. */
  readonly closeReason: CloseReason | undefined;
  statistics(): ConnectionStatistics;
}
