import type {
  Role,
  SecretDirection,
  TlsLevel,
  ClientTls,
  ServerTls,
  TlsHandshake,
} from '../contract.ts';
import { initialKeys } from '../protection/initial-secrets.ts';
import { type KeyLimits, OneRttKeys } from '../protection/one-rtt-keys.ts';
import {
  PacketOpener,
  PacketSealer,
  type CipherSuite,
  isCipherSuite,
} from '../protection/packet-keys.ts';
import { Space } from '../wire/packet-header.ts';
import { cryptoErrorCode, QuicError, TransportErrorCode } from '../errors.ts';
import type { CryptoStreams } from '../packets/crypto-streams.ts';
import { FrameType, type FrameError } from '../wire/frame-types.ts';
import {
  decodeTransportParameters,
  type TransportParameters,
  encodeTransportParameters,
} from '../wire/transport-parameters.ts';
import { MAX_ACK_DELAY, MAX_RECEIVED_DATAGRAM, ACTIVE_CONNECTION_ID_LIMIT } from '../limits.ts';
import { receiveMemory, DEFAULT_STREAM_GRANTS } from '../streams/grants.ts';
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

/** The keys of all levels. Keys that were discarded are never installed again (RFC 9001 §4.9). */
export class ConnectionKeys implements Disposable {
  readonly oneRtt: OneRttKeys;
  readonly #sealers: (PacketSealer | undefined)[] = [undefined, undefined];
  readonly #openers: (PacketOpener | undefined)[] = [undefined, undefined];
  readonly #discarded = [false, false, false];

  /** @param limits replace those of the cipher suites, for tests. */
  constructor(limits?: KeyLimits) {
    this.oneRtt = new OneRttKeys(limits);
  }

  /** Derives the Initial keys; again after a Retry (RFC 9001 §5.2). */
  setInitial(destinationId: Uint8Array, role: Role): void {
    this.#dispose(Space.INITIAL);
    const { sealer, opener } = initialKeys(destinationId, role);
    this.#sealers[Space.INITIAL] = sealer;
    this.#openers[Space.INITIAL] = opener;
  }

  install(
    level: Exclude<TlsLevel, 'initial'>,
    direction: SecretDirection,
    suite: CipherSuite,
    secret: Uint8Array,
  ): void {
    if (level === 'application') {
      if (direction === 'read') this.oneRtt.installRead(suite, secret);
      else this.oneRtt.installWrite(suite, secret);
    } else if (direction === 'read') {
      this.#openers[Space.HANDSHAKE] = new PacketOpener(suite, secret);
    } else {
      this.#sealers[Space.HANDSHAKE] = new PacketSealer(suite, secret);
    }
  }

  canSeal(space: Space): boolean {
    return space === Space.APPLICATION ? this.oneRtt.canWrite : this.#sealers[space] !== undefined;
  }

  isDiscarded(space: Space): boolean {
    return this.#discarded[space] === true;
  }

  /** Returns the sealer of Initial or Handshake packets. */
  sealer(space: Space): PacketSealer | undefined {
    return this.#sealers[space];
  }

  /** Returns the opener of Initial or Handshake packets. */
  opener(space: Space): PacketOpener | undefined {
    return this.#openers[space];
  }

  discard(space: typeof Space.INITIAL | typeof Space.HANDSHAKE): void {
    this.#dispose(space);
    this.#discarded[space] = true;
  }

  [Symbol.dispose](): void {
    this.discard(Space.INITIAL);
    this.discard(Space.HANDSHAKE);
    this.oneRtt[Symbol.dispose]();
    this.#discarded[Space.APPLICATION] = true;
  }

  #dispose(space: typeof Space.INITIAL | typeof Space.HANDSHAKE): void {
    this.#sealers[space]?.[Symbol.dispose]();
    this.#openers[space]?.[Symbol.dispose]();
    this.#sealers[space] = undefined;
    this.#openers[space] = undefined;
  }
}

/**
 * The TLS handshake of a connection (RFC 9001 §4): passes CRYPTO data to TLS and back, installs its keys in
 * `ConnectionKeys`, and checks the peer's transport parameters.
 */
export class ConnectionTls implements Disposable {
  readonly #role: Role;
  readonly #tls: TlsHandshake;
  readonly #keys: ConnectionKeys;
  readonly #crypto: CryptoStreams;
  readonly #ids: HandshakeIds;
  /** The peer's transport parameters, once they have arrived. */
  peerParameters: TransportParameters | undefined;
  #error: QuicError | undefined;
  #isComplete = false;

  constructor(
    role: Role,
    tls: ClientTls | ServerTls,
    keys: ConnectionKeys,
    crypto: CryptoStreams,
    ids: HandshakeIds,
  ) {
    this.#role = role;
    this.#keys = keys;
    this.#crypto = crypto;
    this.#ids = ids;
    this.#tls = tls.createHandshake({
      onCryptoData: (level, bytes) => {
        this.#crypto[level].sending.write(bytes);
      },
      onSecret: (level, direction, suite, secret) => {
        this.#onSecret(level, direction, suite, secret);
      },
      onPeerParameters: (bytes) => {
        this.#onPeerParameters(bytes);
      },
      onAlert: (code) => {
        const reason = this.#tls.failure ?? 'the TLS handshake failed';
        this.#error ??= new QuicError(cryptoErrorCode(code), reason, FrameType.CRYPTO);
      },
      onViolation: (reason) => {
        const { PROTOCOL_VIOLATION } = TransportErrorCode;
        this.#error ??= new QuicError(PROTOCOL_VIOLATION, reason, FrameType.CRYPTO);
      },
      onComplete: () => {
        this.#isComplete = this.#error === undefined;
      },
    });
  }

  /**
   * Whether TLS is complete, and the peer's transport parameters are authentic. Remains true after an error in later
   * messages, which is reported under the 1-RTT keys.
   */
  get isComplete(): boolean {
    return this.#isComplete && this.peerParameters !== undefined;
  }

  /**
   * Starts the handshake; a client creates its ClientHello.
   * @param parameters the encoded transport parameters of this side.
   */
  start(parameters: Uint8Array): void {
    this.#tls.setTransportParameters(parameters);
    if (this.#role === 'client') this.#tls.start();
  }

  /** Passes received data of a level to TLS, in order. */
  advance(level: TlsLevel): FrameError {
    while (this.#error === undefined) {
      const bytes = this.#crypto[level].receiving.read();
      if (bytes === undefined) return undefined;
      this.#tls.receive(level, bytes);
    }
    return this.#error;
  }

  [Symbol.dispose](): void {
    this.#tls[Symbol.dispose]();
  }

  #onSecret(
    level: Exclude<TlsLevel, 'initial'>,
    direction: SecretDirection,
    suite: number,
    secret: Uint8Array,
  ): void {
    if (isCipherSuite(suite)) this.#keys.install(level, direction, suite, secret);
    else {
      const { INTERNAL_ERROR } = TransportErrorCode;
      this.#error ??= new QuicError(INTERNAL_ERROR, 'TLS chose a suite that QUIC does not know');
    }
    secret.fill(0);
  }

  #onPeerParameters(bytes: Uint8Array): void {
    const peer = decodeTransportParameters(bytes, this.#role === 'client' ? 'server' : 'client');
    if (peer instanceof QuicError) {
      this.#error ??= peer;
      return;
    }
    const fault = this.#ids.check(peer);
    if (fault === undefined) this.peerParameters = peer;
    else this.#error ??= fault;
  }
}
