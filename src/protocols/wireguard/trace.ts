/** Why a datagram was not used. None of it changes the tunnel. */
export type DropReason =
  /** No message: its type or its length is unknown. */
  | 'message'
  /** `mac1` does not fit: it was not made for this key. */
  | 'mac'
  /** Too many handshake messages; the sender may have had a cookie reply. */
  | 'limit'
  /** No session or handshake has this index. */
  | 'index'
  /** Its session is too old. */
  | 'expired'
  /** Its counter is beyond what a session sends. */
  | 'counter'
  /** It was received before, or is too old to know. */
  | 'replay'
  /** It is not authentic. */
  | 'authentication';

/** What a tunnel does, for tests and for people who look for a fault. */
export type TraceEvent =
  | { readonly kind: 'dropped'; readonly reason: DropReason; readonly bytes: number }
  | {
      readonly kind: 'sent';
      readonly what: 'initiation' | 'response' | 'cookie reply' | 'keepalive';
    }
  | { readonly kind: 'received'; readonly what: 'initiation' | 'response' | 'cookie reply' }
  | { readonly kind: 'session'; readonly role: 'initiator' | 'responder' }
  | { readonly kind: 'erased' };

/** Takes what happens, at a time in milliseconds. It must not throw. */
export type Trace = (event: TraceEvent, now: number) => void;
