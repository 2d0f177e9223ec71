import type { LifecycleState } from './connection/lifecycle.ts';
import type { Space } from './recovery/space.ts';

/** Why a received packet, or the rest of a datagram, was not used. None of it ends a connection. */
export type DropReason =
  /** No packet at all: the unprotected part of its header is invalid. */
  | 'header'
  /** Another version. */
  | 'version'
  /** A connection id that is not of this connection. */
  | 'connection-id'
  /** A type that this side does not take, or not any more: Retry at a server, 0-RTT. */
  | 'type'
  /** Its keys are not there yet, and there is no room to keep it. */
  | 'no-keys'
  /** Its keys have been discarded. */
  | 'old-keys'
  /** It is not authentic. */
  | 'authentication'
  /** It was received before. */
  | 'duplicate'
  /** An Initial packet of a client in a datagram below 1,200 bytes (RFC 9000 §14.1). */
  | 'small-initial'
  | 'token'
  /** From an address that the peer may not use, or not yet. */
  | 'address'
  /** The peer has made more work in this turn of the event loop than it may (`TurnWork`). */
  | 'work'
  /** The connection has ended. */
  | 'closed';

/** What a connection does, for tests and for qlog. */
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

/** Takes what happens, at a time in milliseconds. It must not throw. */
export type QuicTrace = (event: TraceEvent, now: number) => void;
