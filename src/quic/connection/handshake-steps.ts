import type { Role } from '../contract.ts';
import type { ConnectionSettings } from './connection-settings.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { Deadlines } from './deadlines.ts';
import type { IdleTimeout } from './idle-timeout.ts';
import type { ConnectionKeys } from './connection-keys.ts';
import { type CryptoStreams, levelOf } from '../packets/crypto-streams.ts';
import type { ConnectionTls } from './connection-tls.ts';
import type { LocalConnectionIds } from '../path/connection-ids.ts';
import type { PeerConnectionIds } from '../path/connection-ids.ts';
import type { Paths } from '../path/paths.ts';
import type { LossDetection } from '../recovery/loss-detection.ts';
import type { AckSchedules } from '../recovery/ack-schedule.ts';
import type { Streams } from '../streams/streams.ts';
import type { EventQueue } from './event-queue.ts';
import type { Telemetry } from './telemetry.ts';
import type { DatagramSize } from '../path/datagram-size.ts';
import type { PendingFrames } from '../packets/pending-frames.ts';
import { Space } from '../recovery/space.ts';
import type { IpEndpoint } from '../../ip/ip-endpoint.ts';
import type { TransportParameters } from '../wire/transport-parameters.ts';

/** The parts of a connection that `HandshakeSteps` uses. */
export interface HandshakeStepsParts {
  readonly role: Role;
  readonly settings: ConnectionSettings;
  readonly lifecycle: Lifecycle;
  readonly deadlines: Deadlines;
  readonly idle: IdleTimeout;
  readonly keys: ConnectionKeys;
  readonly crypto: CryptoStreams;
  readonly tls: ConnectionTls;
  readonly localIds: LocalConnectionIds;
  readonly peerIds: PeerConnectionIds;
  readonly paths: Paths<IpEndpoint>;
  readonly loss: LossDetection;
  readonly acks: AckSchedules;
  readonly streams: Streams;
  readonly events: EventQueue;
  readonly telemetry: Telemetry;
}

/**
 * The steps of a handshake (RFC 9001 §4.1, §4.9): new keys, the completion of TLS and the confirmation, and the actions
 * of the connection's parts that follow.
 */
export class HandshakeSteps {
  readonly #role: Role;
  readonly #settings: ConnectionSettings;
  readonly #lifecycle: Lifecycle;
  readonly #deadlines: Deadlines;
  readonly #idle: IdleTimeout;
  readonly #keys: ConnectionKeys;
  readonly #crypto: CryptoStreams;
  readonly #tls: ConnectionTls;
  readonly #localIds: LocalConnectionIds;
  readonly #peerIds: PeerConnectionIds;
  readonly #paths: Paths<IpEndpoint>;
  readonly #loss: LossDetection;
  readonly #acks: AckSchedules;
  readonly #streams: Streams;
  readonly #events: EventQueue;
  readonly #telemetry: Telemetry;
  readonly #size: DatagramSize;
  readonly #pending: PendingFrames;
  readonly #makeToken: ((remote: IpEndpoint, now: number) => Uint8Array) | undefined;
  #hasHandshakeKeys = false;

  constructor(
    parts: HandshakeStepsParts,
    size: DatagramSize,
    pending: PendingFrames,
    makeToken: ((remote: IpEndpoint, now: number) => Uint8Array) | undefined,
  ) {
    this.#role = parts.role;
    this.#settings = parts.settings;
    this.#lifecycle = parts.lifecycle;
    this.#deadlines = parts.deadlines;
    this.#idle = parts.idle;
    this.#keys = parts.keys;
    this.#crypto = parts.crypto;
    this.#tls = parts.tls;
    this.#localIds = parts.localIds;
    this.#peerIds = parts.peerIds;
    this.#paths = parts.paths;
    this.#loss = parts.loss;
    this.#acks = parts.acks;
    this.#streams = parts.streams;
    this.#events = parts.events;
    this.#telemetry = parts.telemetry;
    this.#size = size;
    this.#pending = pending;
    this.#makeToken = makeToken;
  }

  /** Called after a packet of this space was processed. */
  afterPacket(space: Space, now: number): void {
    if (!this.#lifecycle.isOpen) return;
    if (!this.#hasHandshakeKeys && this.#keys.canSeal(Space.HANDSHAKE)) {
      this.#hasHandshakeKeys = true;
      this.#loss.onHandshakeKeys(now);
    }
    // A server MUST discard Initial keys when it first processes a Handshake packet (§4.9.1).
    if (
      this.#role === 'server' &&
      space === Space.HANDSHAKE &&
      !this.#keys.isDiscarded(Space.INITIAL)
    ) {
      this.#discard(Space.INITIAL, now);
      this.#paths.active.validate();
    }
    if (this.#tls.isComplete && this.#lifecycle.state === 'handshaking') this.#complete(now);
  }

  /** Discards Initial keys, as a client MUST when it first sends a Handshake packet (§4.9.1). */
  onHandshakePacketSent(now: number): void {
    if (this.#role === 'client' && !this.#keys.isDiscarded(Space.INITIAL))
      this.#discard(Space.INITIAL, now);
  }

  /** Confirms the handshake (§4.1.2): Handshake keys MUST be discarded (§4.9.2). */
  confirm(now: number): void {
    if (!this.#lifecycle.go('confirmed', now)) return;
    if (!this.#keys.isDiscarded(Space.INITIAL)) this.#discard(Space.INITIAL, now);
    this.#discard(Space.HANDSHAKE, now);
    this.#loss.onHandshakeConfirmed(now);
    this.#keys.oneRtt.onConfirmed();
    this.#events.push({ kind: 'confirmed' });
  }

  /** Completes the handshake once TLS is complete (§4.1.1). For a server it is confirmed at once (§4.1.2). */
  #complete(now: number): void {
    const peer = this.#tls.peerParameters;
    if (peer === undefined || !this.#lifecycle.go('established', now)) return;
    this.#apply(peer, now);
    this.#deadlines.clear('handshake');
    this.#events.push({ kind: 'established' });
    if (this.#role === 'client') {
      this.#paths.active.validate();
      return;
    }
    this.#pending.requestHandshakeDone();
    const token = this.#makeToken?.(this.#paths.active.remote, now);
    if (token !== undefined) this.#pending.requestNewToken(token);
    this.confirm(now);
  }

  #apply(peer: TransportParameters, now: number): void {
    this.#streams.setPeerGrants(peer);
    this.#loss.setPeer(peer.maxAckDelay, peer.ackDelayExponent, now);
    this.#localIds.setPeerLimit(peer.activeConnectionIdLimit);
    if (this.#role === 'client')
      this.#peerIds.setFirst(this.#peerIds.current, peer.statelessResetToken);
    this.#idle.setPeerTimeout(peer.maxIdleTimeout);
    this.#paths.active.mtu.setMost(Math.min(this.#settings.maxDatagram, peer.maxUdpPayloadSize));
    this.#size.setPeer(peer.maxDatagramFrameSize);
  }

  #discard(space: typeof Space.INITIAL | typeof Space.HANDSHAKE, now: number): void {
    this.#keys.discard(space);
    this.#loss.discard(space, now);
    this.#crypto.discard(levelOf(space));
    this.#acks.discard(space);
    this.#telemetry.trace({ kind: 'keys-discarded', space }, now);
  }
}
