import { isSameId } from './handshake-ids.ts';
import type { PacketBuilder } from '../packets/packet-builder.ts';
import type { ConnectionParts } from './parts.ts';
import { isRetryAuthentic } from '../protection/retry-integrity.ts';
import { offersVersion, VERSION_1, type PacketHeader } from '../wire/packet-header.ts';
import { copyOf } from '../wire/copy-of.ts';

/** What a client obeys before the server has a connection: Retry and version negotiation. */
export class ClientNegotiation {
  readonly #parts: ConnectionParts;
  readonly #builder: PacketBuilder;
  readonly #localId: Uint8Array;

  constructor(parts: ConnectionParts, builder: PacketBuilder, localId: Uint8Array) {
    this.#parts = parts;
    this.#builder = builder;
    this.#localId = localId;
  }

  /** A Retry packet (RFC 9000 §17.2.5.2). Whether it was valid, and is obeyed. */
  onRetry(bytes: Uint8Array, header: PacketHeader, now: number): boolean {
    const { handshakeIds: ids, peerIds, keys, loss, trace } = this.#parts;
    if (ids.retrySourceId !== undefined || ids.peerId !== undefined) return false;
    const { start, end, tokenOffset, tokenSize, sourceIdOffset, sourceIdSize } = header;
    if (tokenSize === 0 || !this.#isForThis(bytes, header)) return false;
    const sourceId = copyOf(bytes, sourceIdOffset, sourceIdOffset + sourceIdSize);
    // The server has to choose another id (§17.2.5.1).
    if (isSameId(sourceId, ids.originalId)) return false;
    if (!isRetryAuthentic(bytes, start, end, ids.originalId)) return false;
    ids.retrySourceId = sourceId;
    this.#builder.token = copyOf(bytes, tokenOffset, tokenOffset + tokenSize);
    peerIds.setFirst(sourceId, undefined);
    keys.setInitial(sourceId, 'client');
    loss.onRetry(now);
    if (trace !== undefined) trace({ kind: 'retry' }, now);
    return true;
  }

  /** A version negotiation packet (§6.2). It is not authentic: one after a packet that was is ignored. */
  onVersionNegotiation(bytes: Uint8Array, header: PacketHeader, now: number): void {
    const { handshakeIds: ids, closing } = this.#parts;
    if (ids.peerId !== undefined || ids.retrySourceId !== undefined) return;
    const { sourceIdOffset, sourceIdSize } = header;
    const sourceId = bytes.subarray(sourceIdOffset, sourceIdOffset + sourceIdSize);
    if (!this.#isForThis(bytes, header) || !isSameId(sourceId, ids.originalId)) return;
    if (offersVersion(bytes, header, VERSION_1)) return;
    const reason = 'the server does not speak QUIC version 1';
    closing.end({ kind: 'version', by: 'peer', code: 0, reason }, now);
  }

  #isForThis(bytes: Uint8Array, header: PacketHeader): boolean {
    const { destinationIdOffset: at, destinationIdSize: size } = header;
    return isSameId(bytes.subarray(at, at + size), this.#localId);
  }
}
