import type { Closing } from './closing.ts';
import type { ConnectionKeys } from './connection-keys.ts';
import { isSameId, type HandshakeIds } from './handshake-ids.ts';
import type { PeerConnectionIds } from './path/connection-ids.ts';
import { isRetryAuthentic } from './protection/retry-integrity.ts';
import type { LossDetection } from './recovery/loss-detection.ts';
import { offersVersion, VERSION_1, type PacketHeader } from './wire/packet-header.ts';

/** What a client obeys before the server has a connection: Retry and version negotiation. */
export class ServerStart {
  readonly #ids: HandshakeIds;
  readonly #localId: Uint8Array;
  readonly #keys: ConnectionKeys;
  readonly #peerIds: PeerConnectionIds;
  readonly #loss: LossDetection;
  readonly #closing: Closing;
  /** The token of the Initial packets: of a Retry, or of an earlier connection. */
  token: Uint8Array;

  constructor(options: {
    readonly ids: HandshakeIds;
    readonly localId: Uint8Array;
    readonly keys: ConnectionKeys;
    readonly peerIds: PeerConnectionIds;
    readonly loss: LossDetection;
    readonly closing: Closing;
    readonly token: Uint8Array;
  }) {
    this.#ids = options.ids;
    this.#localId = options.localId;
    this.#keys = options.keys;
    this.#peerIds = options.peerIds;
    this.#loss = options.loss;
    this.#closing = options.closing;
    this.token = options.token;
  }

  /** A Retry packet (RFC 9000 §17.2.5.2). Whether it was valid, and is obeyed. */
  onRetry(bytes: Uint8Array, header: PacketHeader, now: number): boolean {
    const ids = this.#ids;
    if (ids.retrySourceId !== undefined || ids.peerId !== undefined) return false;
    const { start, end, tokenOffset, tokenSize, sourceIdOffset, sourceIdSize } = header;
    if (tokenSize === 0 || !this.#isForThis(bytes, header)) return false;
    const sourceId = bytes.slice(sourceIdOffset, sourceIdOffset + sourceIdSize);
    // The server has to choose another id (§17.2.5.1).
    if (isSameId(sourceId, ids.originalId)) return false;
    if (!isRetryAuthentic(bytes, start, end, ids.originalId)) return false;
    ids.retrySourceId = sourceId;
    this.token = bytes.slice(tokenOffset, tokenOffset + tokenSize);
    this.#peerIds.setFirst(sourceId, undefined);
    this.#keys.setInitial(sourceId, 'client');
    this.#loss.onRetry(now);
    return true;
  }

  /** A version negotiation packet (§6.2). It is not authentic: one after a packet that was is ignored. */
  onVersionNegotiation(bytes: Uint8Array, header: PacketHeader, now: number): void {
    const ids = this.#ids;
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
