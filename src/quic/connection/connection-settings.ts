import { IDLE_TIMEOUT, HANDSHAKE_TIMEOUT, MAX_DATAGRAM } from '../limits.ts';
import type { StreamGrants } from '../streams/streams.ts';

/** What a connection announces and how it behaves; the same for all of one endpoint. */
export interface ConnectionSettings {
  /** Milliseconds without a packet after which it ends; 0 for never. The peer may want less. */
  readonly idleTimeout: number;
  /** Milliseconds without a packet after which a PING is sent; 0 for none. */
  readonly keepAlive: number;
  /** Milliseconds for the handshake. */
  readonly handshakeTimeout: number;
  /**
   * Whether the protocol above calls `authenticated` when it knows who the peer is. Until then the peer
   * gets little memory, and its place when there are too many connections.
   */
  readonly authenticates: boolean;
  /** Windows and numbers of streams; `undefined` for those of `streams/limits.ts`. */
  readonly grants: StreamGrants | undefined;
  /** Announced as max_datagram_frame_size; 0 accepts no DATAGRAM frames. */
  readonly maxDatagramFrameSize: number;
  /**
   * Whether DATAGRAM frames are exchanged with a peer that has not announced them, with payloads up to
   * `UNANNOUNCED_DATAGRAM_SIZE`: hysteria's client leaves the parameter out and uses them.
   */
  readonly acceptUnannouncedDatagrams: boolean;
  /**
   * Bytes of UDP payload that the path is searched for at most. Obfuscation takes its overhead off;
   * `MIN_DATAGRAM` searches for nothing, as on sockets that cannot forbid fragmentation.
   */
  readonly maxDatagram: number;
  readonly congestion: 'bbr' | 'cubic' | 'newreno';
  /** Whether packets are marked ECT(0), as far as the path validates it (RFC 9000 §13.4). */
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
