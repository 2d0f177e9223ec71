import { QuicError, TransportErrorCode } from '../errors.ts';
import type { TransportParameters } from '../wire/transport-parameters.ts';

/** Whether two connection ids are the same. They are no secrets. */
export const isSameId = (one: Uint8Array | undefined, other: Uint8Array | undefined): boolean =>
  one === undefined || other === undefined
    ? one === other
    : one.length === other.length && one.every((byte, i) => byte === other[i]);

/** The connection ids of a handshake, and that both sides have seen the same ones (RFC 9000 §7.3). */
export class HandshakeIds {
  readonly #role: 'client' | 'server';
  /** The destination id of the client's very first packet. */
  readonly originalId: Uint8Array;
  /** The source id of the Retry packet. */
  retrySourceId: Uint8Array | undefined;
  /** The source id of the peer's Initial packets; a client learns it from the first. */
  peerId: Uint8Array | undefined;

  constructor(role: 'client' | 'server', originalId: Uint8Array) {
    this.#role = role;
    this.originalId = originalId;
  }

  /** Checks the ids in the peer's transport parameters. */
  check(peer: TransportParameters): QuicError | undefined {
    if (!isSameId(peer.initialSourceConnectionId, this.peerId)) {
      return mismatch('initial_source_connection_id');
    }
    if (this.#role === 'server') return undefined;
    if (!isSameId(peer.originalDestinationConnectionId, this.originalId)) {
      return mismatch('original_destination_connection_id');
    }
    if (!isSameId(peer.retrySourceConnectionId, this.retrySourceId)) {
      return mismatch('retry_source_connection_id');
    }
    return undefined;
  }
}

const mismatch = (name: string): QuicError =>
  new QuicError(
    TransportErrorCode.TRANSPORT_PARAMETER_ERROR,
    `${name} is not the id that was seen in the handshake`,
  );
