import type { TransportParameters } from '../wire/transport-parameters.ts';
import type { ReceiveMemory } from './flow-control.ts';
import {
  INITIAL_CONNECTION_WINDOW,
  INITIAL_STREAM_WINDOW,
  MAX_BIDIRECTIONAL_STREAMS,
  MAX_CONNECTION_WINDOW,
  MAX_STREAM_WINDOW,
  MAX_UNIDIRECTIONAL_STREAMS,
  MAX_UNREAD,
  MAX_WINDOW_GROWTH,
  PROVEN_STREAM_WINDOW,
  UNAUTHENTICATED_WINDOW,
} from '../limits.ts';

/** Limits that this side grants the peer, sent in its transport parameters (RFC 9000 §18.2). */
export interface StreamGrants {
  /** Bytes on all streams together: initial_max_data. */
  readonly connectionWindow: number;
  readonly maxConnectionWindow: number;
  /** Total unread bytes of all streams, and the total growth of their windows. */
  readonly unread: number;
  readonly windowGrowth: number;
  /** Bytes on one stream of any kind: initial_max_stream_data_*. */
  readonly streamWindow: number;
  /** The window of a stream after its first growth, when its reader keeps up. */
  readonly provenStreamWindow: number;
  readonly maxStreamWindow: number;
  /** Streams of the peer that may be open at once: initial_max_streams_*. */
  readonly bidirectionalStreams: number;
  readonly unidirectionalStreams: number;
}

export const DEFAULT_STREAM_GRANTS: StreamGrants = {
  connectionWindow: INITIAL_CONNECTION_WINDOW,
  maxConnectionWindow: MAX_CONNECTION_WINDOW,
  unread: MAX_UNREAD,
  windowGrowth: MAX_WINDOW_GROWTH,
  streamWindow: INITIAL_STREAM_WINDOW,
  provenStreamWindow: PROVEN_STREAM_WINDOW,
  maxStreamWindow: MAX_STREAM_WINDOW,
  bidirectionalStreams: MAX_BIDIRECTIONAL_STREAMS,
  unidirectionalStreams: MAX_UNIDIRECTIONAL_STREAMS,
};

/**
 * Bounds of the stream data that a connection may hold.
 * @param isKnown whether the peer is authenticated, or need not authenticate itself.
 */
export function receiveMemory(grants: StreamGrants, isKnown: boolean): ReceiveMemory {
  const { connectionWindow, maxConnectionWindow, unread, windowGrowth } = grants;
  if (isKnown) {
    const maxWindow = Math.max(connectionWindow, maxConnectionWindow);
    return {
      window: connectionWindow,
      maxWindow,
      unread: Math.max(unread, maxWindow),
      growth: windowGrowth,
    };
  }
  const window = Math.min(connectionWindow, UNAUTHENTICATED_WINDOW);
  return { window, maxWindow: window, unread: window, growth: 0 };
}

/** Limits that the peer grants in its transport parameters. */
export type PeerGrants = Pick<
  TransportParameters,
  | 'initialMaxData'
  | 'initialMaxStreamDataBidiLocal'
  | 'initialMaxStreamDataBidiRemote'
  | 'initialMaxStreamDataUni'
  | 'initialMaxStreamsBidi'
  | 'initialMaxStreamsUni'
>;
