/**
 * The states of a stream (RFC 9113 §5.1, figure 2). Streams that are idle are not kept, and none are
 * reserved, since pushes are disabled:
 *
 *                        HEADERS sent or received
 *                                   |
 *                                 open
 *                END_STREAM sent /     \ END_STREAM received
 *              half-closed (local)     half-closed (remote)
 *            END_STREAM received \     / END_STREAM sent
 *                                closed
 *
 * RST_STREAM, and the end of the connection, close a stream in any state. `received` is the part of
 * the peer's message that has come (§8.1): the head of a request or of a final response, or all of it.
 */
export type StreamState =
  | { readonly kind: 'open'; readonly received: 'nothing' | 'head' }
  | { readonly kind: 'half-closed (local)'; readonly received: 'nothing' | 'head' }
  | { readonly kind: 'half-closed (remote)'; readonly received: 'all' }
  | { readonly kind: 'closed'; readonly received: 'nothing' | 'head' | 'all' };

// One object per state, so that a transition does not allocate.
const OPEN: StreamState = { kind: 'open', received: 'nothing' };
const OPEN_WITH_HEAD: StreamState = { kind: 'open', received: 'head' };
const LOCAL: StreamState = { kind: 'half-closed (local)', received: 'nothing' };
const LOCAL_WITH_HEAD: StreamState = { kind: 'half-closed (local)', received: 'head' };
const REMOTE: StreamState = { kind: 'half-closed (remote)', received: 'all' };
const CLOSED: StreamState = { kind: 'closed', received: 'all' };
const CLOSED_WITH_HEAD: StreamState = { kind: 'closed', received: 'head' };
const CLOSED_WITHOUT_HEAD: StreamState = { kind: 'closed', received: 'nothing' };

/** The initial state of a stream of either side. */
export const INITIAL_STATE: StreamState = OPEN;

/** Transition when the head of the peer's message was received; interim responses do not count. */
export function afterHead(state: StreamState): StreamState {
  if (state.received !== 'nothing') return state;
  switch (state.kind) {
    case 'open':
      return OPEN_WITH_HEAD;
    case 'half-closed (local)':
      return LOCAL_WITH_HEAD;
    case 'closed':
      return state;
    default:
      return state satisfies never;
  }
}

/** Transition when END_STREAM was received. */
export function afterEndReceived(state: StreamState): StreamState {
  switch (state.kind) {
    case 'open':
      return REMOTE;
    case 'half-closed (local)':
      return CLOSED;
    case 'half-closed (remote)':
    case 'closed':
      return state;
    default:
      return state satisfies never;
  }
}

/** Transition when END_STREAM was sent. */
export function afterEndSent(state: StreamState): StreamState {
  switch (state.kind) {
    case 'open':
      return state.received === 'head' ? LOCAL_WITH_HEAD : LOCAL;
    case 'half-closed (remote)':
      return CLOSED;
    case 'half-closed (local)':
    case 'closed':
      return state;
    default:
      return state satisfies never;
  }
}

/** Transition when RST_STREAM was sent or received, or the connection has ended. */
export function afterReset(state: StreamState): StreamState {
  switch (state.received) {
    case 'nothing':
      return CLOSED_WITHOUT_HEAD;
    case 'head':
      return CLOSED_WITH_HEAD;
    case 'all':
      return CLOSED;
    default:
      return state satisfies never;
  }
}
