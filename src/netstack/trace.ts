/** Why a packet was not used. None of it ends a connection, and most of it gets no response. */
export type DropReason =
  /** The device delivered less than the headers say, or less than a header. */
  | 'truncated'
  /** Neither IPv4 nor IPv6. */
  | 'version'
  /** A length or an offset in a header contradicts another one. */
  | 'header'
  /** The checksum of the IPv4 header. */
  | 'header-checksum'
  /** The checksum of TCP, UDP or ICMP; also a missing one where it must not be (UDP over IPv6). */
  | 'checksum'
  /** A source or destination that no packet may have here (loopback, multicast source, unspecified). */
  | 'martian'
  /** Source and destination are the same. */
  | 'land'
  /** A multicast or broadcast destination. */
  | 'multicast'
  /** Port 0. */
  | 'port'
  /** A combination of flags that no implementation sends (SYN with RST or FIN). */
  | 'flags'
  /** IPv6 extension headers out of order, too many of them, or a routing header with segments left. */
  | 'extension'
  /** A protocol that the stack does not speak. */
  | 'protocol'
  /** A fragment that overlaps another one, is empty, or ends beyond the largest packet. */
  | 'fragment'
  /** No room for another incomplete packet. */
  | 'fragment-limit'
  /** Incomplete when its time was over. */
  | 'fragment-timeout'
  /** An ICMP message that concerns nothing here. */
  | 'icmp'
  /** A segment for no connection. It got a reset, as far as the limit of these permits. */
  | 'no-connection'
  /** A datagram to a port that nothing is bound to. */
  | 'no-socket'
  /** No room for another connection. */
  | 'connection-limit'
  /** No room for another UDP association. */
  | 'association-limit'
  /** The owner does not take this connection, or association. */
  | 'not-admitted'
  /** Connections that wait for their dial are too many. */
  | 'backlog'
  /** The reader of an association is too slow. */
  | 'queue';

/** Why a segment did not do what it was sent for, at the connection that it belongs to. */
export type SegmentDropReason =
  /** Outside of the window (RFC 9293 §3.10.7.4). */
  | 'sequence'
  /** Its acknowledgment is of data never sent, or too old (RFC 5961 §5). */
  | 'acknowledgment'
  /** Its timestamp is older than the last one (PAWS, RFC 7323 §5.3), or missing. */
  | 'timestamp'
  /** A reset whose sequence number is not exactly the next one (RFC 5961 §3). */
  | 'reset'
  /** A SYN on a synchronized connection (RFC 5961 §4). */
  | 'syn'
  /** It has no acknowledgment. */
  | 'no-acknowledgment'
  /** Nothing can be done with it in this state. */
  | 'state'
  /** Data beyond what the out-of-order queue keeps. */
  | 'out-of-order-limit'
  /** Data after the receiver of the application has ended. */
  | 'unread';

/** What the stack and its connections do, for tests and diagnostics. */
export type TraceEvent =
  | { readonly kind: 'packet-dropped'; readonly reason: DropReason; readonly bytes: number }
  | { readonly kind: 'reset-sent' }
  | { readonly kind: 'icmp-sent'; readonly type: number; readonly code: number }
  | { readonly kind: 'response-limited' }
  | { readonly kind: 'state'; readonly from: string; readonly to: string }
  | { readonly kind: 'segment-dropped'; readonly reason: SegmentDropReason; readonly bytes: number }
  | { readonly kind: 'challenge-ack' }
  | { readonly kind: 'lost'; readonly bytes: number }
  | { readonly kind: 'retransmitted'; readonly offset: number; readonly bytes: number }
  | { readonly kind: 'retransmission-timeout'; readonly count: number }
  | { readonly kind: 'tail-loss-probe' }
  | { readonly kind: 'spurious'; readonly what: 'timeout' | 'recovery' }
  | { readonly kind: 'window-probe'; readonly count: number }
  | { readonly kind: 'keep-alive' }
  | { readonly kind: 'mtu'; readonly bytes: number };

/**
 * Takes what happens, at a time in milliseconds. It must not throw. `undefined` where nothing is traced,
 * so that it costs one comparison: `if (trace !== undefined) trace({ … }, now)`.
 */
export type Trace = (event: TraceEvent, now: number) => void;
