import type { IpEndpoint } from '../../ip/ip-endpoint.ts';
import type { IdleTimeout } from './idle-timeout.ts';
import type { Closing } from './closing.ts';
import type { ConnectionKeys } from './connection-keys.ts';
import type { ConnectionSettings } from './connection-settings.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { Counters } from './counters.ts';
import type { CryptoStreams } from '../packets/crypto-streams.ts';
import type { DatagramFrames } from '../packets/datagram-frames.ts';
import type { Deadlines } from './deadlines.ts';
import type { EventQueue } from './event-queue.ts';
import type { ConnectionTls } from './connection-tls.ts';
import type { HandshakeIds } from './handshake-ids.ts';
import type { LocalConnectionIds, PeerConnectionIds } from '../path/connection-ids.ts';
import type { Paths } from '../path/paths.ts';
import type { LossDetection } from '../recovery/loss-detection.ts';
import type { ReceivedSpaces } from '../packets/received-spaces.ts';
import type { Streams } from '../streams/streams.ts';
import type { Trace } from '../trace.ts';
import type { TurnWork } from '../endpoint/turn-work.ts';

/** What a connection is made of. Each part owns its state and uses the others through this record. */
export interface ConnectionParts {
  readonly role: 'client' | 'server';
  readonly settings: ConnectionSettings;
  readonly lifecycle: Lifecycle;
  readonly deadlines: Deadlines;
  readonly activity: IdleTimeout;
  readonly closing: Closing;
  readonly keys: ConnectionKeys;
  readonly crypto: CryptoStreams;
  readonly handshake: ConnectionTls;
  readonly handshakeIds: HandshakeIds;
  readonly localIds: LocalConnectionIds;
  /** Bytes of the ids that this side issues. */
  readonly localIdSize: number;
  readonly peerIds: PeerConnectionIds;
  readonly paths: Paths<IpEndpoint>;
  readonly loss: LossDetection;
  readonly received: ReceivedSpaces;
  readonly streams: Streams;
  readonly datagrams: DatagramFrames;
  readonly events: EventQueue;
  readonly counters: Counters;
  readonly work: TurnWork;
  readonly trace: Trace | undefined;
}
