import type { TraceSink } from '@weir/io';
import type { LifecycleState } from './connection/lifecycle.ts';
import type { Space } from './wire/packet-header.ts';

/** The reason why a received packet, or the rest of a datagram, was dropped. None of these ends a connection. */
export type DropReason =
  /** The unprotected part of the header is invalid. */
  | 'header'
  /** The version is not supported. */
  | 'version'
  /** The connection id is not one of this connection. */
  | 'connection-id'
  /** The packet type is not accepted, or no longer: Retry at a server, 0-RTT. */
  | 'type'
  /** The keys are not available yet, and there is no room to keep the packet. */
  | 'no-keys'
  /** The keys have been discarded. */
  | 'old-keys'
  /** The packet is not authentic. */
  | 'authentication'
  /** The packet was received before. */
  | 'duplicate'
  /** An Initial packet of a client in a datagram below 1,200 bytes (RFC 9000 §14.1). */
  | 'small-initial'
  | 'token'
  /** The packet is from an address that the peer may not use, or not yet. */
  | 'address'
  /** The peer has exceeded its work for this turn of the event loop (`TurnWork`). */
  | 'work'
  /** The connection has ended. */
  | 'closed';

/** An event of a connection, for tests and for qlog. */
export type TraceEvent =
  | { readonly kind: 'state'; readonly from: LifecycleState; readonly to: LifecycleState }
  | {
      readonly kind: 'packet-sent';
      readonly space: Space;
      readonly number: number;
      readonly bytes: number;
      readonly ackEliciting: boolean;
    }
  | {
      readonly kind: 'packet-received';
      readonly space: Space;
      readonly number: number;
      readonly bytes: number;
    }
  | { readonly kind: 'packet-dropped'; readonly reason: DropReason; readonly bytes: number }
  | { readonly kind: 'keys-discarded'; readonly space: Space }
  | { readonly kind: 'key-update'; readonly updates: number }
  | { readonly kind: 'retry' }
  | { readonly kind: 'probe'; readonly count: number }
  | { readonly kind: 'mtu'; readonly bytes: number }
  | { readonly kind: 'path'; readonly change: 'moved' | 'validated' | 'failed' };

/** Receives the events of a connection, with their times in milliseconds. It must not throw. */
export type QuicTrace = TraceSink<TraceEvent>;

/** Counts since the connection was created. Bytes are UDP payload. */
export interface ConnectionStatistics {
  readonly bytesSent: number;
  readonly bytesReceived: number;
  readonly datagramsSent: number;
  readonly datagramsReceived: number;
  readonly packetsSent: number;
  readonly packetsReceived: number;
  readonly packetsLost: number;
  readonly packetsDropped: number;
  readonly inFlight: number;
  readonly window: number;
  /** The pacing rate in bytes per millisecond. */
  readonly pacingRate: number;
  readonly smoothedRtt: number;
  readonly minimumRtt: number;
  readonly datagramSize: number;
}

/** Counts what a connection sends and receives, and passes events to its trace, if any. */
export class Telemetry {
  readonly #trace: QuicTrace | undefined;
  bytesSent = 0;
  bytesReceived = 0;
  datagramsSent = 0;
  datagramsReceived = 0;
  packetsSent = 0;
  packetsReceived = 0;
  packetsDropped = 0;

  constructor(trace: QuicTrace | undefined) {
    this.#trace = trace;
  }

  /** Traces a rare event. Packets have methods of their own, so that they allocate nothing. */
  trace(event: TraceEvent, now: number): void {
    this.#trace?.(event, now);
  }

  onPacketSent(
    space: Space,
    number: number,
    bytes: number,
    ackEliciting: boolean,
    now: number,
  ): void {
    this.packetsSent++;
    if (this.#trace !== undefined) {
      this.#trace({ kind: 'packet-sent', space, number, bytes, ackEliciting }, now);
    }
  }

  onPacketReceived(space: Space, number: number, bytes: number, now: number): void {
    this.packetsReceived++;
    if (this.#trace !== undefined) {
      this.#trace({ kind: 'packet-received', space, number, bytes }, now);
    }
  }

  onPacketDropped(reason: DropReason, bytes: number, now: number): void {
    this.packetsDropped++;
    if (this.#trace !== undefined) this.#trace({ kind: 'packet-dropped', reason, bytes }, now);
  }
}
