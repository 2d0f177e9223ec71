import { NamedDeadlines } from '@weir/base/timers';
import { CryptoStreams } from '../packets/crypto-streams.ts';
import { DatagramFrames } from '../packets/datagram-frames.ts';
import { TurnWork } from '../packets/turn-work.ts';
import { LocalConnectionIds, PeerConnectionIds } from '../path/connection-ids.ts';
import { Paths } from '../path/paths.ts';
import { ackSchedules } from '../recovery/ack-schedule.ts';
import { LossDetection } from '../recovery/loss-detection.ts';
import { Streams } from '../streams/streams.ts';
import { DEFAULT_STREAM_GRANTS } from '../streams/grants.ts';
import { Telemetry } from '../trace.ts';
import { Closing, EventQueue, CONNECTION_DEADLINES, IdleTimeout, Lifecycle } from './lifecycle.ts';
import type { ClientOptions, ServerOptions } from './connection-options.ts';
import {
  ConnectionKeys,
  ConnectionTls,
  type ConnectionIdentity,
  HandshakeIds,
} from './connection-tls.ts';

/**
 * The parts of a connection, none of which acts on the others. Code that does has this record, instead of a reference
 * to each part.
 */
export type ConnectionParts = ReturnType<typeof createParts>;

export function createParts(options: ClientOptions | ServerOptions, identity: ConnectionIdentity) {
  const { settings, random, ids, remote, local } = options;
  const { role, own } = identity;
  const isPeerKnown = !settings.authenticates;

  const telemetry = new Telemetry(options.trace);
  const lifecycle = new Lifecycle((from, to, now) => {
    telemetry.trace({ kind: 'state', from, to }, now);
  });
  const deadlines = new NamedDeadlines(CONNECTION_DEADLINES);
  const paths = new Paths({
    role,
    remote,
    local,
    validated: identity.isValidated,
    maxDatagram: settings.maxDatagram,
    congestion: settings.congestion,
    random,
  });
  const { control, mtu } = paths.active;
  const loss = new LossDetection(role, random, control, mtu);
  const closing = new Closing(lifecycle, deadlines, loss);
  const handshakeIds = new HandshakeIds(identity);
  const keys = new ConnectionKeys(options.keyLimits);
  keys.setInitial(identity.initialKeyId, role);
  const crypto = new CryptoStreams();
  const streams = new Streams(role, settings.grants ?? DEFAULT_STREAM_GRANTS, isPeerKnown);
  const datagrams = new DatagramFrames(settings.maxDatagramFrameSize);
  return {
    role,
    settings,
    /** The first id of this side, the source id of its long headers; all its ids have the same length. */
    localId: own.id,
    telemetry,
    lifecycle,
    deadlines,
    work: new TurnWork(options.sharedWork ?? { frames: 0 }, isPeerKnown),
    paths,
    loss,
    acks: ackSchedules(),
    idle: new IdleTimeout(deadlines, loss, settings.idleTimeout, settings.keepAlive),
    closing,
    localIds: new LocalConnectionIds(
      own.id,
      () => ids.issue(),
      (id) => {
        ids.release(id);
      },
    ),
    peerIds: new PeerConnectionIds(identity.destinationId),
    handshakeIds,
    keys,
    crypto,
    tls: new ConnectionTls(role, options.tls, keys, crypto, handshakeIds),
    streams,
    datagrams,
    events: new EventQueue(streams, datagrams, closing, lifecycle),
  };
}
