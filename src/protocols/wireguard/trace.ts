import type { TraceSink } from '../../net/trace.ts';

/** The reason why a datagram was dropped. A drop does not change the tunnel. */
export type DropReason =
  /** The datagram is not a message: its type or its length is unknown. */
  | 'message'
  /** `mac1` is invalid: the message is for another key. */
  | 'mac'
  /** Too many handshake messages; the sender may have got a cookie reply. */
  | 'limit'
  /** No session or handshake has this index. */
  | 'index'
  /** The session is too old. */
  | 'expired'
  /** The counter exceeds the limit of a session. */
  | 'counter'
  /** The message was received before, or is too old to tell. */
  | 'replay'
  /** The message is not authentic. */
  | 'authentication';

/** Events of a tunnel, for tests and diagnostics. */
export type TraceEvent =
  | { readonly kind: 'dropped'; readonly reason: DropReason; readonly bytes: number }
  | {
      readonly kind: 'sent';
      readonly what: 'initiation' | 'response' | 'cookie reply' | 'keepalive';
    }
  | { readonly kind: 'received'; readonly what: 'initiation' | 'response' | 'cookie reply' }
  | { readonly kind: 'session'; readonly role: 'initiator' | 'responder' }
  | { readonly kind: 'erased' };

/** Receives each event and its time in milliseconds. It must not throw. */
export type Trace = TraceSink<TraceEvent>;
