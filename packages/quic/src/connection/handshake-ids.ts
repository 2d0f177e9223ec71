import type { Role } from '../contract.ts';
import { QuicError, TransportErrorCode } from '../errors.ts';
import { MAX_ACK_DELAY, MAX_RECEIVED_DATAGRAM, ACTIVE_CONNECTION_ID_LIMIT } from '../limits.ts';
import { receiveMemory } from '../streams/grants.ts';
import { DEFAULT_STREAM_GRANTS } from '../streams/streams.ts';
import {
  encodeTransportParameters,
  type TransportParameters,
} from '../wire/transport-parameters.ts';
import type {
  ClientOptions,
  RegisteredId,
  ServerOptions,
  ConnectionSettings,
} from './connection-options.ts';

/** Bytes of the destination id of a client's first packet; at least 8 (RFC 9000 §7.2). */
const ORIGINAL_ID_SIZE = 8;

/** The connection ids with which a connection starts, in either role. */
export interface ConnectionIdentity {
  readonly role: Role;
  readonly own: RegisteredId;
  /** The destination id of the client's first packet. */
  readonly originalId: Uint8Array;
  /** The destination id of the first packets of this side. */
  readonly destinationId: Uint8Array;
  /** The id that the Initial keys are derived from (RFC 9001 §5.2). */
  readonly initialKeyId: Uint8Array;
  /** The source id of the peer's packets, if known. */
  readonly peerId: Uint8Array | undefined;
  readonly retrySourceId: Uint8Array | undefined;
  /** Whether the peer's address is validated. */
  readonly isValidated: boolean;
}

/** Returns the ids of a connection to a server. */
export function clientIdentity({ random, ids }: ClientOptions): ConnectionIdentity {
  const originalId = random.bytes(ORIGINAL_ID_SIZE);
  return {
    role: 'client',
    own: ids.issue(),
    originalId,
    destinationId: originalId,
    initialKeyId: originalId,
    peerId: undefined,
    retrySourceId: undefined,
    isValidated: true,
  };
}

/** Returns the ids of a connection to the client whose first Initial packet has arrived. */
export function serverIdentity(options: ServerOptions): ConnectionIdentity {
  const { ids, originalId, retrySourceId, clientId, isValidated } = options;
  return {
    role: 'server',
    own: ids.issue(),
    originalId,
    destinationId: clientId,
    initialKeyId: retrySourceId ?? originalId,
    peerId: clientId,
    retrySourceId,
    isValidated,
  };
}

/** Returns the transport parameters that this side sends (RFC 9000 §18.2). */
export function ownParameters(
  settings: ConnectionSettings,
  identity: ConnectionIdentity,
): Uint8Array {
  const grants = settings.grants ?? DEFAULT_STREAM_GRANTS;
  const isServer = identity.role === 'server';
  return encodeTransportParameters({
    originalDestinationConnectionId: isServer ? identity.originalId : undefined,
    retrySourceConnectionId: isServer ? identity.retrySourceId : undefined,
    statelessResetToken: isServer ? identity.own.resetToken : undefined,
    initialSourceConnectionId: identity.own.id,
    maxIdleTimeout: settings.idleTimeout,
    maxUdpPayloadSize: MAX_RECEIVED_DATAGRAM,
    maxAckDelay: MAX_ACK_DELAY,
    activeConnectionIdLimit: ACTIVE_CONNECTION_ID_LIMIT,
    initialMaxData: receiveMemory(grants, !settings.authenticates).window,
    initialMaxStreamDataBidiLocal: grants.streamWindow,
    initialMaxStreamDataBidiRemote: grants.streamWindow,
    initialMaxStreamDataUni: grants.streamWindow,
    initialMaxStreamsBidi: grants.bidirectionalStreams,
    initialMaxStreamsUni: grants.unidirectionalStreams,
    maxDatagramFrameSize: settings.maxDatagramFrameSize,
  });
}

/** Whether two connection ids are the same. They are not secret. */
export const isSameId = (one: Uint8Array | undefined, other: Uint8Array | undefined): boolean =>
  one === undefined || other === undefined
    ? one === other
    : one.length === other.length && one.every((byte, i) => byte === other[i]);

/** The connection ids of a handshake, which the transport parameters authenticate (RFC 9000 §7.3). */
export class HandshakeIds {
  readonly #role: Role;
  /** The destination id of the client's first packet. */
  readonly originalId: Uint8Array;
  /** The source id of the Retry packet. */
  retrySourceId: Uint8Array | undefined;
  /** The source id of the peer's Initial packets; for a client, that of the first one it receives. */
  peerId: Uint8Array | undefined;

  constructor({ role, originalId, peerId }: ConnectionIdentity) {
    this.#role = role;
    this.originalId = originalId;
    this.peerId = peerId;
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
