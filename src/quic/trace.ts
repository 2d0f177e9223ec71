import type { TraceSink } from '../net/trace.ts';
import type { LifecycleState } from './connection/lifecycle.ts';
import type { Space } from './recovery/space.ts';

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
