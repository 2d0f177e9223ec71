import { type CreateController, bbr } from '@weir/congestion';
import { IDLE_TIMEOUT, HANDSHAKE_TIMEOUT, MAX_DATAGRAM } from '../limits.ts';
import type { StreamGrants } from '../streams/grants.ts';
import type { RandomSource } from '@weir/base/random';
import type { IpEndpoint } from '@weir/base/ip';
import type { KeyLimits } from '../protection/one-rtt-keys.ts';
import type { ClientTls, ServerTls } from '../contract.ts';
import type { QuicTrace } from '../trace.ts';
import type { SharedWork } from '../packets/turn-work.ts';

/** The settings of a connection, which all connections of one endpoint share. */
export interface ConnectionSettings {
  /** max_idle_timeout in milliseconds; 0 for none. The peer may announce a smaller one. */
  readonly idleTimeout: number;
  /** Milliseconds without a packet after which a PING is sent; 0 for none. */
  readonly keepAlive: number;
  /** Milliseconds for the handshake. */
  readonly handshakeTimeout: number;
  /**
   * Whether the protocol above calls `authenticated` when the peer has authenticated itself. Until then the
   * peer gets little memory, and its connection may be closed in favour of another when there are too many.
   */
  readonly authenticates: boolean;
  /** Flow control windows and stream limits; `undefined` for `DEFAULT_STREAM_GRANTS`. */
  readonly grants: StreamGrants | undefined;
  /** The announced max_datagram_frame_size; 0 accepts no DATAGRAM frames. */
  readonly maxDatagramFrameSize: number;
  /**
   * Whether DATAGRAM frames are exchanged with a peer that has not announced them, with payloads up to
   * `UNANNOUNCED_DATAGRAM_SIZE`: hysteria's client leaves the parameter out and uses them.
   */
  readonly acceptUnannouncedDatagrams: boolean;
  /**
   * The largest UDP payload that path MTU discovery searches for, in bytes. The overhead of obfuscation is subtracted
   * from it; `MIN_DATAGRAM` disables the search, as on sockets that cannot forbid fragmentation.
   */
  readonly maxDatagram: number;
  /** Creates the congestion controller of each path. */
  readonly congestion: CreateController;
  /** Whether packets are marked with ECT(0), while validation succeeds (RFC 9000 §13.4). */
  readonly ecn: boolean;
}

/**
 * The settings of a connection that suit most protocols: no DATAGRAM frames, no keep-alive, no ECN. Spread and
 * override.
 */
export const DEFAULT_SETTINGS: ConnectionSettings = {
  idleTimeout: IDLE_TIMEOUT,
  keepAlive: 0,
  handshakeTimeout: HANDSHAKE_TIMEOUT,
  authenticates: false,
  grants: undefined,
  maxDatagramFrameSize: 0,
  acceptUnannouncedDatagrams: false,
  maxDatagram: MAX_DATAGRAM,
  congestion: bbr,
  ecn: false,
};

/** A connection id that the endpoint has issued and routes to the connection. */
export interface RegisteredId {
  readonly id: Uint8Array;
  /** The token of a stateless reset for this id, 16 bytes. */
  readonly resetToken: Uint8Array;
}

/** Issues the ids of one connection; all have the same number of bytes. */
export interface IdIssuer {
  /** Issues a new id and routes its packets to the connection. */
  issue(): RegisteredId;
  /** Ends the routing of an id. */
  release(id: Uint8Array): void;
}

/** The options of both roles. */
export interface CommonOptions {
  readonly settings: ConnectionSettings;
  readonly random: RandomSource;
  readonly ids: IdIssuer;
  readonly remote: IpEndpoint;
  /** The local address that the peer sends to, if known. */
  readonly local?: IpEndpoint | undefined;
  readonly now: number;
  readonly trace?: QuicTrace | undefined;
  /** Work shared by all connections of the endpoint. */
  readonly sharedWork?: SharedWork | undefined;
  /** Number of packets after which keys are updated, instead of the limits of the cipher suites; for tests. */
  readonly keyLimits?: KeyLimits | undefined;
}

/** The options of a client's connection, for a driver of `QuicCore`. */
export interface ClientOptions extends CommonOptions {
  readonly tls: ClientTls;
  /** The token of an earlier connection's `token` event. */
  readonly token?: Uint8Array | undefined;
}

/** The options of a server's connection, for a driver of `QuicCore`. */
export interface ServerOptions extends CommonOptions {
  readonly tls: ServerTls;
  /** The destination id of the client's first Initial packet; taken from the token if a Retry was sent. */
  readonly originalId: Uint8Array;
  /** The source id of the Retry packet, if one was sent: the destination id of this Initial packet. */
  readonly retrySourceId?: Uint8Array | undefined;
  /** The source id of the client's Initial packet. */
  readonly clientId: Uint8Array;
  /** Whether a token has validated the client's address (RFC 9000 §8.1.2). */
  readonly isValidated: boolean;
  /** Creates a token for NEW_TOKEN (§8.1.3), called once; without this function none is sent. */
  readonly makeToken?: ((remote: IpEndpoint, now: number) => Uint8Array) | undefined;
}
