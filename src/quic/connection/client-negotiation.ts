import type { Closing } from './closing.ts';
import type { ConnectionKeys } from './connection-keys.ts';
import type { HandshakeIds } from './handshake-ids.ts';
import type { PeerConnectionIds } from '../path/connection-ids.ts';
import type { LossDetection } from '../recovery/loss-detection.ts';
import type { Telemetry } from './telemetry.ts';
import { isSameId } from './handshake-ids.ts';
import type { PacketBuilder } from '../packets/packet-builder.ts';
import { isRetryAuthentic } from '../protection/retry-integrity.ts';
import { offersVersion, VERSION_1, type PacketHeader } from '../wire/packet-header.ts';
import { copyOf } from '../../collections/copy-bytes.ts';

/** The parts of a connection that `ClientNegotiation` uses. */
export interface ClientNegotiationParts {
  readonly closing: Closing;
  readonly keys: ConnectionKeys;
  readonly handshakeIds: HandshakeIds;
  readonly peerIds: PeerConnectionIds;
  readonly loss: LossDetection;
  readonly telemetry: Telemetry;
}

/** Handles Retry and Version Negotiation packets of a server, which the server sends without keeping state. */
export class ClientNegotiation {
  readonly #closing: Closing;
  readonly #keys: ConnectionKeys;
  readonly #handshakeIds: HandshakeIds;
  readonly #peerIds: PeerConnectionIds;
  readonly #loss: LossDetection;
  readonly #telemetry: Telemetry;
  readonly #builder: PacketBuilder;
  readonly #localId: Uint8Array;

  constructor(parts: ClientNegotiationParts, builder: PacketBuilder, localId: Uint8Array) {
    this.#closing = parts.closing;
    this.#keys = parts.keys;
    this.#handshakeIds = parts.handshakeIds;
    this.#peerIds = parts.peerIds;
    this.#loss = parts.loss;
    this.#telemetry = parts.telemetry;
    this.#builder = builder;
    this.#localId = localId;
  }

  /** Handles a Retry packet (RFC 9000 §17.2.5.2). Returns whether it was valid and is followed. */
  onRetry(bytes: Uint8Array, header: PacketHeader, now: number): boolean {
    const ids = this.#handshakeIds;
    if (ids.retrySourceId !== undefined || ids.peerId !== undefined) return false;
    const { start, end, tokenOffset, tokenSize, sourceIdOffset, sourceIdSize } = header;
    if (tokenSize === 0 || !this.#isForThis(bytes, header)) return false;
    const sourceId = copyOf(bytes, sourceIdOffset, sourceIdOffset + sourceIdSize);
    // Its source id MUST NOT be the destination id of the client's Initial packet (§17.2.5.1).
    if (isSameId(sourceId, ids.originalId)) return false;
    if (!isRetryAuthentic(bytes, start, end, ids.originalId)) return false;
    ids.retrySourceId = sourceId;
    this.#builder.token = copyOf(bytes, tokenOffset, tokenOffset + tokenSize);
    this.#peerIds.setFirst(sourceId, undefined);
    this.#keys.setInitial(sourceId, 'client');
    this.#loss.onRetry(now);
    this.#telemetry.trace({ kind: 'retry' }, now);
    return true;
  }

  /** Handles a Version Negotiation packet (§6.2), which MUST be discarded if another packet was processed before. */
  onVersionNegotiation(bytes: Uint8Array, header: PacketHeader, now: number): void {
    const ids = this.#handshakeIds;
    if (ids.peerId !== undefined || ids.retrySourceId !== undefined) return;
    const { sourceIdOffset, sourceIdSize } = header;
    const sourceId = bytes.subarray(sourceIdOffset, sourceIdOffset + sourceIdSize);
    if (!this.#isForThis(bytes, header) || !isSameId(sourceId, ids.originalId)) return;
    if (offersVersion(bytes, header, VERSION_1)) return;
    const reason = 'the server does not speak QUIC version 1';
    this.#closing.end({ kind: 'version', by: 'peer', code: 0, reason }, now);
  }

  #isForThis(bytes: Uint8Array, header: PacketHeader): boolean {
    const { destinationIdOffset: at, destinationIdSize: size } = header;
    return isSameId(bytes.subarray(at, at + size), this.#localId);
  }
}
