import { equalInConstantTime } from '@weir/crypto/hash';
import { QuicError, TransportErrorCode } from '../errors.ts';
import type { DeliveryListener } from '../recovery/delivery.ts';
import { copyOf } from '@weir/base/bytes';
import { FrameType } from '../wire/frame-types.ts';
import { RESET_TOKEN_SIZE } from '../wire/packet-header.ts';
import { SHORTEST_RESET } from '../protection/tokens.ts';
import { ACTIVE_CONNECTION_ID_LIMIT, MAX_LOCAL_IDS, MAX_RETIREMENTS } from '../limits.ts';

const { PROTOCOL_VIOLATION, FRAME_ENCODING_ERROR, CONNECTION_ID_LIMIT_ERROR } = TransportErrorCode;

/** A connection id, and the stateless reset token of the endpoint that issued it. */
interface ConnectionId {
  readonly sequence: number;
  readonly id: Uint8Array;
  /** The stateless reset token, 16 bytes; `undefined` for an id of the handshake without one. */
  readonly resetToken: Uint8Array | undefined;
}

/** A connection id in a NEW_CONNECTION_ID frame. */
interface AnnouncedId extends ConnectionId {
  readonly resetToken: Uint8Array;
}

interface LocalId {
  readonly sequence: number;
  readonly id: Uint8Array;
  /** The NEW_CONNECTION_ID frame of the id; the id of the handshake needs none. */
  readonly frame: AnnouncedId | undefined;
  isDue: boolean;
  isKnown: boolean;
}

const isSame = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, index) => byte === b[index]);

/** The connection ids issued by this side, to which the peer addresses its packets (RFC 9000 §5.1.1). */
export class LocalConnectionIds implements DeliveryListener {
  readonly #issue: (sequence: number) => {
    readonly id: Uint8Array;
    readonly resetToken: Uint8Array;
  };
  readonly #release: (id: Uint8Array) => void;
  #ids: LocalId[];
  #next = 1;
  #limit = 1;
  #largestSent = 0;

  /**
   * @param first the id of the handshake. If it is empty, there are no others.
   * @param issue creates an id with its token, and routes its packets to this connection.
   * @param release called when an id is no longer used.
   */
  constructor(
    first: Uint8Array,
    issue: (sequence: number) => { readonly id: Uint8Array; readonly resetToken: Uint8Array },
    release: (id: Uint8Array) => void,
  ) {
    this.#issue = issue;
    this.#release = release;
    this.#ids = [{ sequence: 0, id: first, frame: undefined, isDue: false, isKnown: true }];
  }

  /** Sets the peer's active_connection_id_limit: issues that many ids, up to `MAX_LOCAL_IDS`. */
  setPeerLimit(limit: number): void {
    const isEmpty = this.#ids[0]?.id.length === 0;
    this.#limit = isEmpty ? 1 : Math.min(limit, MAX_LOCAL_IDS);
    this.#fill();
  }

  /** The next id to announce with NEW_CONNECTION_ID, unchanged until `onSent`. Its Retire Prior To is 0. */
  get due(): AnnouncedId | undefined {
    // A loop without a closure, because it runs for each packet.
    for (const entry of this.#ids) if (entry.isDue) return entry.frame;
    return undefined;
  }

  onSent(sequence: number): void {
    this.#largestSent = Math.max(this.#largestSent, sequence);
    this.#setDue(sequence, false);
  }

  /** Called when a NEW_CONNECTION_ID frame was acknowledged. */
  onAcknowledged(sequence: number): void {
    const entry = this.#ids.find((one) => one.sequence === sequence);
    if (entry === undefined) return;
    entry.isKnown = true;
    entry.isDue = false;
  }

  /** Called when a NEW_CONNECTION_ID frame was lost. */
  onLost(sequence: number): void {
    this.#setDue(sequence, true);
  }

  /**
   * Handles RETIRE_CONNECTION_ID.
   * @param packetId the destination connection id of its packet (§19.16).
   */
  retire(sequence: number, packetId: Uint8Array): QuicError | undefined {
    if (sequence > this.#largestSent) {
      return retireError('a connection id was retired that was never issued');
    }
    const index = this.#ids.findIndex((entry) => entry.sequence === sequence);
    const entry = this.#ids[index];
    if (entry === undefined) return undefined;
    if (isSame(entry.id, packetId)) {
      return retireError('a connection id was retired by a packet that was addressed to it');
    }
    this.#ids.splice(index, 1);
    this.#release(entry.id);
    this.#fill();
    return undefined;
  }

  /** Releases all ids when the connection has ended. */
  dispose(): void {
    for (const { id } of this.#ids) this.#release(id);
    this.#ids = [];
    this.#limit = 0;
  }

  #fill(): void {
    while (this.#ids.length < this.#limit) {
      const sequence = this.#next++;
      const { id, resetToken } = this.#issue(sequence);
      this.#ids.push({
        sequence,
        id,
        frame: { sequence, id, resetToken },
        isDue: true,
        isKnown: false,
      });
    }
  }

  #setDue(sequence: number, isDue: boolean): void {
    const entry = this.#ids.find((one) => one.sequence === sequence);
    if (entry !== undefined && !entry.isKnown) entry.isDue = isDue;
  }
}

/** The id of an inactive path. */
interface PathId {
  readonly path: object;
  readonly id: ConnectionId;
  /** Whether the connection has migrated away from the path. */
  readonly isLeft: boolean;
}

/**
 * The connection ids issued by the peer, to which this side addresses its packets (RFC 9000 §5.1): one for the active
 * path, and one for each other path, so that they cannot be linked (§9.5).
 *
 * They are used in the order of their sequence numbers. Ids below the last one used are in use, retired, or retired on
 * arrival, so that no list of them is needed.
 */
export class PeerConnectionIds implements DeliveryListener {
  #current: ConnectionId;
  /** Ids of inactive paths, at most one each. */
  #others: PathId[] = [];
  #largestUsed = 0;
  /** Unused ids in the order of sequence numbers, all above `#largestUsed`. */
  #spares: ConnectionId[] = [];
  /** Retired ids whose frame is not acknowledged. */
  readonly #retirements: { readonly sequence: number; isDue: boolean }[] = [];

  /** @param first for a client, the random id of its first packet; for a server, the client's id. */
  constructor(first: Uint8Array) {
    this.#current = { sequence: 0, id: first, resetToken: undefined };
  }

  /** The id of the active path. */
  get current(): Uint8Array {
    return this.#current.id;
  }

  /**
   * Replaces the id of the handshake by that of the server's first packet or of a Retry (§7.2), or adds its token
   * from the transport parameters (§10.3).
   */
  setFirst(id: Uint8Array, resetToken: Uint8Array | undefined): void {
    if (this.#current.sequence === 0) this.#current = { sequence: 0, id, resetToken };
  }

  /** Handles NEW_CONNECTION_ID (§19.15). */
  add(
    sequence: number,
    retirePriorTo: number,
    bytes: Uint8Array,
    idAt: number,
    idSize: number,
    tokenAt: number,
  ): QuicError | undefined {
    if (this.#current.id.length === 0) {
      return newIdError(PROTOCOL_VIOLATION, 'a new connection id although ids are empty');
    }
    if (retirePriorTo > sequence) {
      return newIdError(FRAME_ENCODING_ERROR, 'a connection id that retires itself');
    }
    const added: ConnectionId = {
      sequence,
      id: copyOf(bytes, idAt, idAt + idSize),
      resetToken: copyOf(bytes, tokenAt, tokenAt + RESET_TOKEN_SIZE),
    };
    if (this.#contradicts(added)) {
      return newIdError(PROTOCOL_VIOLATION, 'a connection id that contradicts another one');
    }
    const isUsed = sequence <= this.#largestUsed;
    if (!isUsed) this.#insert(added);
    const late = isUsed && !this.#isInUse(sequence) ? this.#retire(sequence) : undefined;
    const error = late ?? this.#retireBefore(retirePriorTo);
    if (error !== undefined) return error;
    if (1 + this.#others.length + this.#spares.length > ACTIVE_CONNECTION_ID_LIMIT) {
      return newIdError(CONNECTION_ID_LIMIT_ERROR, 'more connection ids than announced');
    }
    return undefined;
  }

  /**
   * Returns the id for packets on an inactive path: one that was used on no other path (§9.5). If the peer has
   * issued no other, it is the current one: this side opens no paths itself, and sends only to addresses from which
   * packets of the peer arrived. This way the connection survives a NAT rebinding, and a migration of a peer that has
   * issued no other id.
   */
  idFor(path: object): Uint8Array {
    const known = this.#others.find((other) => other.path === path);
    if (known !== undefined) return known.id.id;
    const id = this.#takeSpare();
    if (id === undefined) return this.current;
    this.#others.push({ path, id, isLeft: false });
    return id.id;
  }

  /** Migrates the connection to a path, and to the id of that path; the former path keeps its own. */
  use(path: object, former: object): void {
    const index = this.#others.findIndex((other) => other.path === path);
    const id = index < 0 ? this.#takeSpare() : this.#others.splice(index, 1)[0]?.id;
    if (id === undefined) return;
    this.#others.push({ path: former, id: this.#current, isLeft: true });
    this.#current = id;
  }

  /** Whether `retireUnused` has ids to check. */
  get hasOthers(): boolean {
    return this.#others.length > 0;
  }

  /** Retires the ids of paths that are no longer needed. */
  retireUnused(isNeeded: (path: object, isLeft: boolean) => boolean): void {
    this.#others = this.#others.filter(({ path, id, isLeft }) => {
      // Without room for the frame it is retired later.
      return isNeeded(path, isLeft) || this.#retire(id.sequence) !== undefined;
    });
  }

  /** The sequence number of the next RETIRE_CONNECTION_ID, unchanged until `onRetirementSent`. */
  get retirementDue(): number | undefined {
    for (const retirement of this.#retirements) if (retirement.isDue) return retirement.sequence;
    return undefined;
  }

  onRetirementSent(sequence: number): void {
    this.#setDue(sequence, false);
  }

  onLost(sequence: number): void {
    this.#setDue(sequence, true);
  }

  onAcknowledged(sequence: number): void {
    const index = this.#retirements.findIndex((retirement) => retirement.sequence === sequence);
    if (index >= 0) this.#retirements.splice(index, 1);
  }

  /** Whether a datagram is a stateless reset by the peer (§10.3.1): whether it ends with one of the peer's tokens. */
  isStatelessReset(bytes: Uint8Array, offset: number, length: number): boolean {
    return length >= SHORTEST_RESET && this.isResetToken(bytes, offset + length - RESET_TOKEN_SIZE);
  }

  /**
   * Whether 16 bytes at the end of a datagram are the stateless reset token of an id in use (§10.3.1). Takes
   * constant time.
   */
  isResetToken(bytes: Uint8Array, at: number): boolean {
    const token = bytes.subarray(at, at + RESET_TOKEN_SIZE);
    let isOne = isTokenOf(this.#current, token);
    for (const { id } of this.#others) if (isTokenOf(id, token)) isOne = true;
    return isOne;
  }

  #isInUse(sequence: number): boolean {
    if (sequence === this.#current.sequence) return true;
    return this.#others.some(({ id }) => id.sequence === sequence);
  }

  #takeSpare(): ConnectionId | undefined {
    const spare = this.#spares.shift();
    if (spare !== undefined) this.#largestUsed = spare.sequence;
    return spare;
  }

  /**
   * Whether the peer has used a sequence number for two ids or two tokens, or an id for two sequence numbers (§19.15).
   */
  #contradicts(added: ConnectionId): boolean {
    const isContradiction = (known: ConnectionId): boolean => {
      if (known.sequence !== added.sequence) return isSame(known.id, added.id);
      if (!isSame(known.id, added.id)) return true;
      const { resetToken } = known;
      return (
        resetToken !== undefined &&
        added.resetToken !== undefined &&
        !isSame(resetToken, added.resetToken)
      );
    };
    return (
      isContradiction(this.#current) ||
      this.#others.some(({ id }) => isContradiction(id)) ||
      this.#spares.some(isContradiction)
    );
  }

  #insert(added: ConnectionId): void {
    const { sequence } = added;
    let at = this.#spares.length;
    while (at > 0 && (this.#spares[at - 1]?.sequence ?? 0) > sequence) at--;
    if (this.#spares[at - 1]?.sequence === sequence) return;
    this.#spares.splice(at, 0, added);
  }

  #retireBefore(limit: number): QuicError | undefined {
    const kept: PathId[] = [];
    for (const other of this.#others) {
      const { sequence } = other.id;
      const error = sequence < limit ? this.#retire(sequence) : undefined;
      if (error !== undefined) return error;
      if (sequence >= limit) kept.push(other);
    }
    this.#others = kept;
    while (this.#current.sequence < limit) {
      const error = this.#retire(this.#current.sequence);
      if (error !== undefined) return error;
      // The new id itself is not below Retire Prior To, so there is one.
      const next = this.#takeSpare() ?? this.#others.pop()?.id;
      if (next === undefined) return undefined;
      this.#current = next;
    }
    return undefined;
  }

  #retire(sequence: number): QuicError | undefined {
    if (this.#retirements.some((retirement) => retirement.sequence === sequence)) return undefined;
    if (this.#retirements.length >= MAX_RETIREMENTS) {
      return newIdError(CONNECTION_ID_LIMIT_ERROR, 'too many connection ids to retire');
    }
    this.#retirements.push({ sequence, isDue: true });
    return undefined;
  }

  #setDue(sequence: number, isDue: boolean): void {
    const retirement = this.#retirements.find((one) => one.sequence === sequence);
    if (retirement !== undefined) retirement.isDue = isDue;
  }
}

const isTokenOf = ({ resetToken }: ConnectionId, token: Uint8Array): boolean =>
  resetToken !== undefined && equalInConstantTime(resetToken, token);

const retireError = (reason: string): QuicError =>
  new QuicError(PROTOCOL_VIOLATION, reason, FrameType.RETIRE_CONNECTION_ID);

const newIdError = (code: number, reason: string): QuicError =>
  new QuicError(code, reason, FrameType.NEW_CONNECTION_ID);
