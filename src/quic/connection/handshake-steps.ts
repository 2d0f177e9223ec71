import type { DatagramSize } from '../path/datagram-size.ts';
import type { ConnectionParts } from './parts.ts';
import type { PendingFrames } from '../packets/pending-frames.ts';
import { Space } from '../recovery/space.ts';
import type { IpEndpoint } from '../../ip/ip-endpoint.ts';
import type { TransportParameters } from '../wire/transport-parameters.ts';

/**
 * The steps of a handshake (RFC 9001 §4.1, §4.9): what each level of keys, the end of TLS and the
 * confirmation mean to the parts of a connection.
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

  /** A packet of this space was processed. */
  afterPacket(space: Space, now: number): void {
    const { role, keys, loss, handshake, lifecycle, paths } = this.#parts;
    if (!lifecycle.isOpen) return;
    if (!this.#hasHandshakeKeys && keys.canSeal(Space.HANDSHAKE)) {
      this.#hasHandshakeKeys = true;
      loss.onHandshakeKeys(now);
    }
    // Only the client that received the server's Initial can seal a Handshake packet (§4.9.1).
    if (role === 'server' && space === Space.HANDSHAKE && !keys.isDiscarded(Space.INITIAL)) {
      this.#discard(Space.INITIAL, now);
      paths.active.validate();
    }
    if (handshake.isComplete && lifecycle.state === 'handshaking') this.#complete(now);
  }

  /** A client has sent a Handshake packet (§4.9.1). */
  onHandshakePacketSent(now: number): void {
    const { role, keys } = this.#parts;
    if (role === 'client' && !keys.isDiscarded(Space.INITIAL)) this.#discard(Space.INITIAL, now);
  }

  /** Both sides know that the handshake is complete (§4.1.2). */
  confirm(now: number): void {
    const { keys, loss, lifecycle, events } = this.#parts;
    if (!lifecycle.go('confirmed', now)) return;
    if (!keys.isDiscarded(Space.INITIAL)) this.#discard(Space.INITIAL, now);
    this.#discard(Space.HANDSHAKE, now);
    loss.onHandshakeConfirmed(now);
    keys.oneRtt.onConfirmed();
    events.push({ kind: 'confirmed' });
  }

  /** TLS is complete (§4.1.1). For a server that is the confirmation as well. */
  #complete(now: number): void {
    const { role, handshake, lifecycle, deadlines, events, paths } = this.#parts;
    const peer = handshake.peerParameters;
    if (peer === undefined || !lifecycle.go('established', now)) return;
    this.#apply(peer, now);
    deadlines.clear('handshake');
    events.push({ kind: 'established' });
    if (role === 'client') {
      paths.active.validate();
      return;
    }
    this.#pending.requestHandshakeDone();
    const token = this.#makeToken?.(paths.active.remote, now);
    if (token !== undefined) this.#pending.requestNewToken(token);
    this.confirm(now);
  }

  #apply(peer: TransportParameters, now: number): void {
    const { role, streams, loss, localIds, peerIds, activity, paths, settings } = this.#parts;
    streams.setPeerGrants(peer);
    loss.setPeer(peer.maxAckDelay, peer.ackDelayExponent, now);
    localIds.setPeerLimit(peer.activeConnectionIdLimit);
    if (role === 'client') peerIds.setFirst(peerIds.current, peer.statelessResetToken);
    activity.setPeerTimeout(peer.maxIdleTimeout);
    paths.active.mtu.setMost(Math.min(settings.maxDatagram, peer.maxUdpPayloadSize));
    this.#size.setPeer(peer.maxDatagramFrameSize);
  }

  #discard(space: typeof Space.INITIAL | typeof Space.HANDSHAKE, now: number): void {
    const { keys, loss, crypto, received, trace } = this.#parts;
    keys.discard(space);
    loss.discard(space, now);
    crypto.discard(space === Space.INITIAL ? 'initial' : 'handshake');
    received.discard(space);
    if (trace !== undefined) trace({ kind: 'keys-discarded', space }, now);
  }
}
