import type { IcmpError } from './ip/icmp-replies.ts';
import type { FragmentFault } from './ip/fragment-reassembly.ts';
import type { TcpState } from './tcp/state.ts';
import type { IcmpFault } from './wire/icmp.ts';
import type { IpFault } from './wire/ip.ts';
import type { TcpFault } from './wire/tcp.ts';
import type { UdpFault } from './wire/udp.ts';

/** Why a packet was not used. None of it ends a connection, and most of it gets no response. */
export type DropReason =
  | IpFault
  | TcpFault
  | UdpFault
  | IcmpFault
  | FragmentFault
  /** Not for an address of this stack. */
  | 'not local'
  /** For a group or all hosts of a network: multicast and broadcast. */
  | 'group'
  /** A protocol that the stack does not speak. */
  | 'protocol'
  /** A segment for no connection. It gets a reset, within a limit. */
  | 'no connection'
  /** A datagram to a port that nothing is bound to. It gets an ICMP message, within a limit. */
  | 'no socket'
  /** No room for another flow: `maxFlows` of the settings. */
  | 'flow limit'
  /** The datagrams of an association that ended for want of room, so that another flow could begin. */
  | 'gave way'
  /** Connections that wait for their dial, or for their client's ACK, are too many. */
  | 'backlog'
  /** A datagram that this stack has sent itself, and that was routed back to it. */
  | 'returned'
  /** UDP is switched off. */
  | 'udp disabled'
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
  | { readonly kind: 'icmp-sent'; readonly error: IcmpError }
  | { readonly kind: 'response-limited' }
  | { readonly kind: 'state'; readonly from: TcpState; readonly to: TcpState }
  | { readonly kind: 'segment-dropped'; readonly reason: SegmentDropReason; readonly bytes: number }
  | { readonly kind: 'challenge-ack' }
  | { readonly kind: 'lost'; readonly bytes: number }
  | { readonly kind: 'retransmitted'; readonly offset: number; readonly bytes: number }
  | { readonly kind: 'retransmission-timeout'; readonly count: number }
  | { readonly kind: 'tail-loss-probe' }
  | { readonly kind: 'spurious'; readonly what: 'timeout' | 'loss' }
  | { readonly kind: 'window-probe'; readonly count: number }
  | { readonly kind: 'keep-alive' }
  | { readonly kind: 'mtu'; readonly bytes: number };

/**
 * Takes what happens, at a time in milliseconds. It must not throw. `undefined` where nothing is traced,
 * so that it costs one comparison: `if (trace !== undefined) trace({ … }, now)`.
 */
export type Trace = (event: TraceEvent, now: number) => void;
