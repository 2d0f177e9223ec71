import type { ConnectionParts } from './parts.ts';
import { levelOf } from '../packets/crypto-streams.ts';
import type { DatagramSize } from '../path/path-changes.ts';
import type { PendingFrames } from '../packets/pending-frames.ts';
import { Space, offersVersion, VERSION_1, type PacketHeader } from '../wire/packet-header.ts';
import type { IpEndpoint } from '@weir/base/ip';
import type { TransportParameters } from '../wire/transport-parameters.ts';
import { isSameId } from './connection-tls.ts';
import type { PacketBuilder } from '../packets/packet-builder.ts';
import { isRetryAuthentic } from '../protection/initial-secrets.ts';
import { copyOf } from '@weir/base/bytes';

/**
 * The steps of a handshake (RFC 9001 §4.1, §4.9): new keys, the completion of TLS and the confirmation, and the actions
 * of the connection's parts that follow.
 */
export class HandshakeSteps {
  readonly #parts: ConnectionParts;
  readonly #size: DatagramSize;
  readonly #pending: PendingFrames;
  readonly #makeToken: ((remote: IpEndpoint, now: number) => Uint8Array) | undefined;
  #hasHandshakeKeys = false;

  constructor(
    parts: ConnectionParts,
    size: DatagramSize,
    pending: PendingFrames,
    makeToken: ((remote: IpEndpoint, now: number) => Uint8Array) | undefined,
  ) {
    this.#parts = parts;
    this.#size = size;
    this.#pending = pending;
    this.#makeToken = makeToken;
  }

  /** Called after a packet of this space was processed. */
  afterPacket(space: Space, now: number): void {
    const { lifecycle, keys } = this.#parts;
    if (!lifecycle.isOpen) return;
    if (!this.#hasHandshakeKeys && keys.canSeal(Space.HANDSHAKE)) {
      this.#hasHandshakeKeys = true;
      this.#parts.loss.onHandshakeKeys(now);
    }
    // A server MUST discard Initial keys when it first processes a Handshake packet (§4.9.1).
    if (
      this.#parts.role === 'server' &&
      space === Space.HANDSHAKE &&
      !keys.isDiscarded(Space.INITIAL)
    ) {
      this.#discard(Space.INITIAL, now);
      this.#parts.paths.active.validate();
    }
    if (this.#parts.tls.isComplete && lifecycle.state === 'handshaking') this.#complete(now);
  }

  /** Discards Initial keys, as a client MUST when it first sends a Handshake packet (§4.9.1). */
  onHandshakePacketSent(now: number): void {
    if (this.#parts.role === 'client' && !this.#parts.keys.isDiscarded(Space.INITIAL))
      this.#discard(Space.INITIAL, now);
  }

  /** Confirms the handshake (§4.1.2): Handshake keys MUST be discarded (§4.9.2). */
  confirm(now: number): void {
    const { keys } = this.#parts;
    if (!this.#parts.lifecycle.go('confirmed', now)) return;
    if (!keys.isDiscarded(Space.INITIAL)) this.#discard(Space.INITIAL, now);
    this.#discard(Space.HANDSHAKE, now);
    this.#parts.loss.onHandshakeConfirmed(now);
    keys.oneRtt.onConfirmed();
    this.#parts.events.push({ kind: 'confirmed' });
  }

  /** Completes the handshake once TLS is complete (§4.1.1). For a server it is confirmed at once (§4.1.2). */
  #complete(now: number): void {
    const { paths } = this.#parts;
    const peer = this.#parts.tls.peerParameters;
    if (peer === undefined || !this.#parts.lifecycle.go('established', now)) return;
    this.#apply(peer, now);
    this.#parts.deadlines.clear('handshake');
    this.#parts.events.push({ kind: 'established' });
    if (this.#parts.role === 'client') {
      paths.active.validate();
      return;
    }
    this.#pending.requestHandshakeDone();
    const token = this.#makeToken?.(paths.active.remote, now);
    if (token !== undefined) this.#pending.requestNewToken(token);
    this.confirm(now);
  }

  #apply(peer: TransportParameters, now: number): void {
    const { peerIds } = this.#parts;
    this.#parts.streams.setPeerGrants(peer);
    this.#parts.loss.setPeer(peer.maxAckDelay, peer.ackDelayExponent, now);
    this.#parts.localIds.setPeerLimit(peer.activeConnectionIdLimit);
    if (this.#parts.role === 'client') peerIds.setFirst(peerIds.current, peer.statelessResetToken);
    this.#parts.idle.setPeerTimeout(peer.maxIdleTimeout);
    this.#parts.paths.active.mtu.setMost(
      Math.min(this.#parts.settings.maxDatagram, peer.maxUdpPayloadSize),
    );
    this.#size.setPeer(peer.maxDatagramFrameSize);
  }

  #discard(space: typeof Space.INITIAL | typeof Space.HANDSHAKE, now: number): void {
    this.#parts.keys.discard(space);
    this.#parts.loss.discard(space, now);
    this.#parts.crypto[levelOf(space)].discard();
    this.#parts.acks[space] = undefined;
    this.#parts.telemetry.trace({ kind: 'keys-discarded', space }, now);
  }
}

/** Handles Retry and Version Negotiation packets of a server, which the server sends without keeping state. */
export class ClientNegotiation {
  readonly #parts: ConnectionParts;
  readonly #builder: PacketBuilder;

  constructor(parts: ConnectionParts, builder: PacketBuilder) {
    this.#parts = parts;
    this.#builder = builder;
  }

  /** Handles a Retry packet (RFC 9000 §17.2.5.2). Returns whether it was valid and is followed. */
  onRetry(bytes: Uint8Array, header: PacketHeader, now: number): boolean {
    const ids = this.#parts.handshakeIds;
    if (ids.retrySourceId !== undefined || ids.peerId !== undefined) return false;
    const { start, end, tokenOffset, tokenSize, sourceIdOffset, sourceIdSize } = header;
    if (tokenSize === 0 || !this.#isForThis(bytes, header)) return false;
    const sourceId = copyOf(bytes, sourceIdOffset, sourceIdOffset + sourceIdSize);
    // Its source id MUST NOT be the destination id of the client's Initial packet (§17.2.5.1).
    if (isSameId(sourceId, ids.originalId)) return false;
    if (!isRetryAuthentic(bytes, start, end, ids.originalId)) return false;
    ids.retrySourceId = sourceId;
    this.#builder.token = copyOf(bytes, tokenOffset, tokenOffset + tokenSize);
    this.#parts.peerIds.setFirst(sourceId, undefined);
    this.#parts.keys.setInitial(sourceId, 'client');
    this.#parts.loss.onRetry(now);
    this.#parts.telemetry.trace({ kind: 'retry' }, now);
    return true;
  }

  /** Handles a Version Negotiation packet (§6.2), which MUST be discarded if another packet was processed before. */
  onVersionNegotiation(bytes: Uint8Array, header: PacketHeader, now: number): void {
    const ids = this.#parts.handshakeIds;
    if (ids.peerId !== undefined || ids.retrySourceId !== undefined) return;
    const { sourceIdOffset, sourceIdSize } = header;
    const sourceId = bytes.subarray(sourceIdOffset, sourceIdOffset + sourceIdSize);
    if (!this.#isForThis(bytes, header) || !isSameId(sourceId, ids.originalId)) return;
    if (offersVersion(bytes, header, VERSION_1)) return;
    const reason = 'the server does not speak QUIC version 1';
    this.#parts.closing.end({ kind: 'version', by: 'peer', code: 0, reason }, now);
  }

  #isForThis(bytes: Uint8Array, header: PacketHeader): boolean {
    const { destinationIdOffset: at, destinationIdSize: size } = header;
    return isSameId(bytes.subarray(at, at + size), this.#parts.localId);
  }
}
