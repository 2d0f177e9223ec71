import type { TraceSink } from '@weir/io';
import type { IcmpError } from './ip/icmp-replies.ts';
import type { FragmentFault } from './ip/fragment-reassembly.ts';
import type { TcpState } from './tcp/state.ts';
import type { IcmpFault } from './wire/icmp.ts';
import type { IpFault } from './wire/ip.ts';
import type { TcpFault } from './wire/tcp.ts';
import type { UdpFault } from './wire/udp.ts';

/** The reason why a packet was dropped. A drop does not end a connection, and mostly gets no response. */
export type DropReason =
  | IpFault
  | TcpFault
  | UdpFault
  | IcmpFault
  | FragmentFault
  /** The packet is to an address that this stack does not have. */
  | 'not local'
  /** The packet is to a multicast or broadcast address. */
  | 'group'
  /** The protocol is not supported. */
  | 'protocol'
  | 'no next header'
  /** A segment for no connection. It gets a reset, within a limit. */
  | 'no connection'
  /** A datagram to a port that nothing is bound to. It gets an ICMP message, within a limit. */
  | 'no socket'
  /** There is no room for another flow: `maxFlows` of the settings. */
  | 'flow limit'
  /** A flow was evicted at the limit so that another one could begin. */
  | 'evicted'
  /** Too many associations had a query and its response at most: one has ended, or there was no room for another. */
  | 'brief associations'
  /** Too many connections wait for their dial or for their client's ACK. */
  | 'backlog'
  /** A datagram that this stack itself sent, and that was routed back to it. */
  | 'returned'
  /** UDP is switched off. */
  | 'udp disabled'
  /** The reader of an association is too slow. */
  | 'queue';

/** The reason why the connection of a segment has ignored it, or a part of it. */
export type SegmentDropReason =
  /** The segment is outside of the window (RFC 9293 §3.10.7.4). */
  | 'sequence'
  /** The segment acknowledges data that was never sent, or is too old (RFC 5961 §5). */
  | 'acknowledgment'
  /** The timestamp is older than the last one (PAWS, RFC 7323 §5.3), or missing. */
  | 'timestamp'
  /** A reset whose sequence number is not exactly the next one (RFC 5961 §3). */
  | 'reset'
  /** A SYN on a synchronized connection (RFC 5961 §4). */
  | 'syn'
  /** The segment has no acknowledgment. */
  | 'no-acknowledgment'
  /** The segment is not acceptable in this state. */
  | 'state'
  /** Data beyond the bound of the out-of-order queue. */
  | 'out-of-order-limit'
  /** Data after the application has stopped reading. */
  | 'unread';

/** Events of the stack and its connections, for tests and diagnostics. */
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
 * Receives each event and its time in milliseconds. It must not throw. Where nothing is traced the sink is `undefined`,
 * which costs one comparison: `if (trace !== undefined) trace({ … }, now)`.
 */
export type Trace = TraceSink<TraceEvent>;

/** Counts dropped packets, and reports them to the trace. */
export class Drops {
  readonly trace: Trace | undefined;
  count = 0;

  constructor(trace: Trace | undefined) {
    this.trace = trace;
  }

  add(reason: DropReason, bytes: number, now: number): void {
    this.count++;
    if (this.trace !== undefined) this.trace({ kind: 'packet-dropped', reason, bytes }, now);
  }
}
