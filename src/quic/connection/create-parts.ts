import {
  isSameAddress,
  isSameEndpoint,
  copyEndpoint,
  type IpEndpoint,
} from '../../ip/ip-endpoint.ts';
import { TurnWork } from '../packets/turn-work.ts';
import { CryptoStreams } from '../packets/crypto-streams.ts';
import { DatagramFrames } from '../packets/datagram-frames.ts';
import { FrameHandler } from '../packets/frame-handler.ts';
import { PacketAssembler } from '../packets/packet-assembler.ts';
import { PacketBuilder } from '../packets/packet-builder.ts';
import { PacketReceiver } from '../packets/packet-receiver.ts';
import { PendingFrames } from '../packets/pending-frames.ts';
import { LocalConnectionIds, PeerConnectionIds } from '../path/connection-ids.ts';
import { DatagramSize } from '../path/datagram-size.ts';
import { PathChanges } from '../path/path-changes.ts';
import { Paths } from '../path/paths.ts';
import { AckSchedules } from '../recovery/ack-schedule.ts';
import { LossDetection } from '../recovery/loss-detection.ts';
import { DEFAULT_STREAM_GRANTS, Streams } from '../streams/streams.ts';
import { ClientNegotiation } from './client-negotiation.ts';
import { Closing } from './closing.ts';
import { ConnectionKeys } from './connection-keys.ts';
import type { ClientOptions, ServerOptions } from './connection-options.ts';
import { ConnectionTls } from './connection-tls.ts';
import { NamedDeadlines } from '../../collections/named-deadlines.ts';
import { CONNECTION_DEADLINES } from './deadlines.ts';
import { EventQueue } from './event-queue.ts';
import { type ConnectionIdentity, HandshakeIds } from './handshake-ids.ts';
import { HandshakeSteps } from './handshake-steps.ts';
import { IdleTimeout } from './idle-timeout.ts';
import { Lifecycle } from './lifecycle.ts';
import { PathFactory } from './path-factory.ts';
import { Telemetry } from './telemetry.ts';

/** The parts of a connection. Only `QuicCore` has all of them; each part receives the others that it uses. */
export type ConnectionParts = ReturnType<typeof createParts>;

/** Creates the parts of a connection and connects them. */
export function createParts(options: ClientOptions | ServerOptions, identity: ConnectionIdentity) {
  const { settings, random, ids } = options;
  const { role, own } = identity;
  const localIdSize = own.id.length;
  const isPeerKnown = !settings.authenticates;

  const telemetry = new Telemetry(options.trace);
  const lifecycle = new Lifecycle((from, to, now) => {
    telemetry.trace({ kind: 'state', from, to }, now);
  });
  const deadlines = new NamedDeadlines(CONNECTION_DEADLINES);
  const work = new TurnWork(options.sharedWork ?? { frames: 0 }, isPeerKnown);

  const pathFactory = new PathFactory(settings, random);
  const paths = new Paths<IpEndpoint>({
    role,
    rules: { isSame: isSameEndpoint, isSameHost: isSameAddress, copy: copyEndpoint },
    first: pathFactory.create(options.remote, options.local, undefined, identity.isValidated),
    create: (remote, local, from) => pathFactory.create(remote, local, from, false),
  });
  const { control, mtu } = paths.active;
  const loss = new LossDetection({ role, random, control, sizes: mtu });
  const acks = new AckSchedules();
  const idle = new IdleTimeout(deadlines, loss, settings.idleTimeout, settings.keepAlive);
  const closing = new Closing(lifecycle, deadlines, loss);

  const localIds = new LocalConnectionIds(
    own.id,
    () => ids.issue(),
    (id) => {
      ids.release(id);
    },
  );
  const peerIds = new PeerConnectionIds(identity.destinationId);
  const handshakeIds = new HandshakeIds(identity);
  const keys = new ConnectionKeys(options.keyLimits);
  keys.setInitial(identity.initialKeyId, role);
  const crypto = new CryptoStreams();
  const tls = new ConnectionTls(role, options.tls, keys, crypto, handshakeIds);

  const streams = new Streams(role, settings.grants ?? DEFAULT_STREAM_GRANTS, isPeerKnown);
  const datagrams = new DatagramFrames(settings.maxDatagramFrameSize);
  const events = new EventQueue(streams, datagrams, closing, lifecycle);

  const { acceptUnannouncedDatagrams } = settings;
  const shared = {
    role,
    settings,
    localIdSize,
    telemetry,
    lifecycle,
    deadlines,
    work,
    paths,
    loss,
    acks,
    idle,
    closing,
    localIds,
    peerIds,
    handshakeIds,
    keys,
    crypto,
    tls,
    streams,
    datagrams,
    events,
  };
  const size = new DatagramSize({ ...shared, acceptUnannouncedDatagrams });
  const pathChanges = new PathChanges(shared, size);
  const pending = new PendingFrames(shared);
  const makeToken = 'makeToken' in options ? options.makeToken : undefined;
  const steps = new HandshakeSteps(shared, size, pending, makeToken);
  const token = 'token' in options ? options.token : undefined;
  const builder = new PacketBuilder(shared, own.id, token);
  const negotiation =
    role === 'client' ? new ClientNegotiation(shared, builder, own.id) : undefined;
  const handler = new FrameHandler(shared, steps);
  const receiver = new PacketReceiver(shared, handler, steps, pathChanges, negotiation);
  const assembler = new PacketAssembler(shared, steps, pending, builder);
  return {
    ...shared,
    size,
    pathFactory,
    pathChanges,
    pending,
    receiver,
    assembler,
  };
}
