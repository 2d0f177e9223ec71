import type { RandomSource } from '../../crypto/random-source.ts';
import type { IpEndpoint } from '../../ip/ip-endpoint.ts';
import type { ConnectionSettings } from './connection-settings.ts';
import type { KeyLimits } from '../protection/key-update.ts';
import type { ClientTls, ServerTls } from './tls-handshake.ts';
import type { QuicTrace } from '../trace.ts';
import type { SharedWork } from '../endpoint/turn-work.ts';

/** An id under which packets reach a connection, as its endpoint makes and registers it. */
export interface RegisteredId {
  readonly id: Uint8Array;
  /** 16 bytes; what the endpoint would send as a stateless reset for this id. */
  readonly resetToken: Uint8Array;
}

/** The ids of one connection at its endpoint; all have the same number of bytes. */
export interface IdIssuer {
  /** Makes a new id and routes its packets to the connection from now on. */
  issue(): RegisteredId;
  /** Routes the packets of this id to the connection no longer. */
  release(id: Uint8Array): void;
}

/** What both roles have in common. */
export interface CommonOptions {
  readonly settings: ConnectionSettings;
  readonly random: RandomSource;
  readonly ids: IdIssuer;
  readonly remote: IpEndpoint;
  /** The own address that the peer sends to, where it is known. */
  readonly local?: IpEndpoint | undefined;
  readonly now: number;
  readonly trace?: QuicTrace | undefined;
  /** Of all connections of the endpoint; left out for one that is alone. */
  readonly sharedWork?: SharedWork | undefined;
  /** Packets after which keys change, instead of those of the cipher suites, for tests. */
  readonly keyLimits?: KeyLimits | undefined;
}

export interface ClientOptions extends CommonOptions {
  readonly tls: ClientTls;
  /** From an earlier connection's `token` event. */
  readonly token?: Uint8Array | undefined;
}

export interface ServerOptions extends CommonOptions {
  readonly tls: ServerTls;
  /** The destination id of the client's very first Initial packet: of the token, if a Retry was sent. */
  readonly originalId: Uint8Array;
  /** The source id of the Retry that was sent, which the Initial now has as its destination. */
  readonly retrySourceId?: Uint8Array | undefined;
  /** The source id of the client's Initial packet. */
  readonly clientId: Uint8Array;
  /** Whether a token has validated the client's address (RFC 9000 §8.1.2). */
  readonly isValidated: boolean;
  /** Makes a token for NEW_TOKEN (§8.1.3), once; without it none is sent. */
  readonly makeToken?: ((remote: IpEndpoint, now: number) => Uint8Array) | undefined;
}
