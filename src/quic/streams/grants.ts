import type { TransportParameters } from '../wire/transport-parameters.ts';
import {
  INITIAL_CONNECTION_WINDOW,
  INITIAL_STREAM_WINDOW,
  MAX_BIDIRECTIONAL_STREAMS,
  MAX_CONNECTION_WINDOW,
  MAX_STREAM_WINDOW,
  MAX_UNIDIRECTIONAL_STREAMS,
} from './limits.ts';

/** What this side grants the peer: goes into its transport parameters (RFC 9000 §18.2). */
export interface StreamGrants {
  /** Bytes on all streams together: initial_max_data. */
  readonly connectionWindow: number;
  readonly maxConnectionWindow: number;
  /** Bytes on one stream, of every kind: initial_max_stream_data_*. */
  readonly streamWindow: number;
  readonly maxStreamWindow: number;
  /** Streams of the peer that may be open at once: initial_max_streams_*. */
  readonly bidirectionalStreams: number;
  readonly unidirectionalStreams: number;
}

export const DEFAULT_STREAM_GRANTS: StreamGrants = {
  connectionWindow: INITIAL_CONNECTION_WINDOW,
  maxConnectionWindow: MAX_CONNECTION_WINDOW,
  streamWindow: INITIAL_STREAM_WINDOW,
  maxStreamWindow: MAX_STREAM_WINDOW,
  bidirectionalStreams: MAX_BIDIRECTIONAL_STREAMS,
  unidirectionalStreams: MAX_UNIDIRECTIONAL_STREAMS,
};

/** What the peer grants: these of its transport parameters. */
export type PeerGrants = Pick<
  TransportParameters,
  | 'initialMaxData'
  | 'initialMaxStreamDataBidiLocal'
  | 'initialMaxStreamDataBidiRemote'
  | 'initialMaxStreamDataUni'
  | 'initialMaxStreamsBidi'
  | 'initialMaxStreamsUni'
>;
