import { IDLE_TIMEOUT, HANDSHAKE_TIMEOUT, MAX_DATAGRAM } from '../limits.ts';
import type { StreamGrants } from '../streams/streams.ts';

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
  /** Flow control windows and stream limits; `undefined` for those of `streams/limits.ts`. */
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
  readonly congestion: 'bbr' | 'cubic' | 'newreno';
  /** Whether packets are marked with ECT(0), while validation succeeds (RFC 9000 §13.4). */
  readonly ecn: boolean;
}

export const DEFAULT_SETTINGS: ConnectionSettings = {
  idleTimeout: IDLE_TIMEOUT,
  keepAlive: 0,
  handshakeTimeout: HANDSHAKE_TIMEOUT,
  authenticates: false,
  grants: undefined,
  maxDatagramFrameSize: 0,
  acceptUnannouncedDatagrams: false,
  maxDatagram: MAX_DATAGRAM,
  congestion: 'bbr',
  ecn: false,
};
