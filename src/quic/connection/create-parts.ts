import {
  copyEndpoint,
  isSameAddress,
  isSameEndpoint,
  type IpEndpoint,
} from '../../ip/ip-endpoint.ts';
import { IdleTimeout } from './idle-timeout.ts';
import { Closing } from './closing.ts';
import { ConnectionKeys } from './connection-keys.ts';
import type { ClientOptions, RegisteredId, ServerOptions } from './connection-options.ts';
import { Lifecycle } from './lifecycle.ts';
import { Counters } from './counters.ts';
import { CryptoStreams } from '../packets/crypto-streams.ts';
import { DatagramFrames } from '../packets/datagram-frames.ts';
import { Deadlines } from './deadlines.ts';
import { EventQueue } from './event-queue.ts';
import { HandshakeIds } from './handshake-ids.ts';
import { ConnectionTls } from './connection-tls.ts';
import type { ConnectionParts } from './parts.ts';
import { LocalConnectionIds, PeerConnectionIds } from '../path/connection-ids.ts';
import { MtuSearch } from '../path/mtu-search.ts';
import { Path } from '../path/path.ts';
import { Paths } from '../path/paths.ts';
import { ReceivedSpaces } from '../packets/received-spaces.ts';
import { LossDetection } from '../recovery/loss-detection.ts';
import { SendRates } from './send-rates.ts';
import { DEFAULT_STREAM_GRANTS, Streams } from '../streams/streams.ts';
import { TurnWork } from '../endpoint/turn-work.ts';

/** The ids with which a connection starts. */
export interface ConnectionIdentity {
  readonly role: 'client' | 'server';
  readonly own: RegisteredId;
  /** The destination id of the client's very first packet. */
  readonly originalId: Uint8Array;
  /** Where the first packets go. */
  readonly destinationId: Uint8Array;
  /** What the Initial keys are made of. */
  readonly initialKeyId: Uint8Array;
  /** The source id of the peer's packets, where it is known. */
  readonly peerId: Uint8Array | undefined;
  readonly retrySourceId: Uint8Array | undefined;
  /** Whether the peer's address is. */
  readonly isValidated: boolean;
}

/** Makes the parts of a connection and connects them. */
export function createParts(
  options: ClientOptions | ServerOptions,
  identity: ConnectionIdentity,
): { readonly parts: ConnectionParts; readonly rates: SendRates } {
  const { settings, random, ids, trace, tls } = options;
  const { role, own } = identity;
  const lifecycle = new Lifecycle(
    trace &&
      ((from, to, now) => {
        trace({ kind: 'state', from, to }, now);
      }),
  );
  const deadlines = new Deadlines();
  const closing = new Closing(lifecycle, deadlines);
  const keys = new ConnectionKeys(options.keyLimits);
  keys.setInitial(identity.initialKeyId, role);
  const handshakeIds = new HandshakeIds(role, identity.originalId);
  handshakeIds.peerId = identity.peerId;
  const crypto = new CryptoStreams();
  const streams = new Streams(
    role,
    settings.grants ?? DEFAULT_STREAM_GRANTS,
    !settings.authenticates,
  );
  const datagrams = new DatagramFrames(settings.maxDatagramFrameSize);
  const rates = new SendRates(settings.congestion, random);
  const createPath = (
    remote: IpEndpoint,
    local: IpEndpoint | undefined,
    from: Path<IpEndpoint> | undefined,
    validated: boolean,
  ): Path<IpEndpoint> =>
    new Path({
      remote: copyEndpoint(remote),
      local: local && copyEndpoint(local),
      control: from?.control ?? rates.create(),
      mtu: from?.mtu ?? new MtuSearch({ most: settings.maxDatagram }),
      random,
      validated,
    });
  const first = createPath(options.remote, options.local, undefined, identity.isValidated);
  const paths = new Paths<IpEndpoint>({
    role,
    rules: { isSame: isSameEndpoint, isSameHost: isSameAddress, copy: copyEndpoint },
    first,
    create: (remote, local, from) => createPath(remote, local, from, false),
  });
  const { control, mtu } = first;
  const parts: ConnectionParts = {
    role,
    settings,
    lifecycle,
    deadlines,
    activity: new IdleTimeout(deadlines, settings.idleTimeout, settings.keepAlive),
    closing,
    keys,
    crypto,
    handshake: new ConnectionTls(role, tls, keys, crypto, handshakeIds),
    handshakeIds,
    localIds: new LocalConnectionIds(
      own.id,
      () => ids.issue(),
      (id) => {
        ids.release(id);
      },
    ),
    localIdSize: own.id.length,
    peerIds: new PeerConnectionIds(identity.destinationId),
    paths,
    loss: new LossDetection({ role, random, control, sizes: mtu }),
    received: new ReceivedSpaces(),
    streams,
    datagrams,
    events: new EventQueue(streams, datagrams, closing, lifecycle),
    counters: new Counters(),
    work: new TurnWork(options.sharedWork ?? { frames: 0 }, !settings.authenticates),
    trace,
  };
  return { parts, rates };
}
