import type { RandomSource } from '../../crypto/random-source.ts';
import type { QuicError } from '../errors.ts';

/** A connection id, and the token with which the endpoint that issued it resets the connection. */
export interface ConnectionId {
  readonly sequence: number;
  readonly id: Uint8Array;
  /** 16 bytes; `undefined` for those of the handshake that came without one. */
  readonly resetToken: Uint8Array | undefined;
}

/** The ids that this side has issued: the peer addresses its packets to them (RFC 9000 §5.1.1). */
export declare class LocalConnectionIds {
  /** @param issue makes an id: random bytes, its token, and registers it with the endpoint. @param release unregisters. */
  constructor(
    first: Uint8Array,
    issue: (sequence: number) => { readonly id: Uint8Array; readonly resetToken: Uint8Array },
    release: (id: Uint8Array) => void,
  );
  /** The peer's active_connection_id_limit: ids are issued up to it, and to a bound of our own. */
  setPeerLimit(limit: number): void;
  /** The next id to announce in NEW_CONNECTION_ID; the same until `onSent`. */
  readonly due: ConnectionId | undefined;
  onSent(sequence: number): void;
  onAcknowledged(sequence: number): void;
  onLost(sequence: number): void;
  /** RETIRE_CONNECTION_ID. @param packetId the destination id of the packet that held it (§19.16). */
  retire(sequence: number, packetId: Uint8Array): QuicError | undefined;
  /** Releases all. */
  dispose(): void;
}

/** The ids that the peer has issued: this side's packets go to them (§5.1). */
export declare class PeerConnectionIds {
  constructor(random: RandomSource, first: Uint8Array);
  /** For the packets of the path in use. */
  readonly current: Uint8Array;
  /** The first id is another one: the peer chose it, or a Retry did. Only during the handshake. */
  setFirst(id: Uint8Array, resetToken: Uint8Array | undefined): void;
  /** NEW_CONNECTION_ID. */
  add(
    sequence: number,
    retirePriorTo: number,
    bytes: Uint8Array,
    idAt: number,
    idSize: number,
    tokenAt: number,
  ): QuicError | undefined;
  /** Takes an unused id for a new path (§9.5); false when there is none, and the old one stays. */
  change(): boolean;
  /** The next sequence number to retire with RETIRE_CONNECTION_ID. */
  readonly retirementDue: number | undefined;
  onRetirementSent(sequence: number): void;
  onRetirementAcknowledged(sequence: number): void;
  onRetirementLost(sequence: number): void;
  /** Whether 16 bytes are the token of an id in use, compared in constant time (§10.3.1). */
  isResetToken(bytes: Uint8Array, at: number): boolean;
}
