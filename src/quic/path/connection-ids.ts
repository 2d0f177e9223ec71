import { equalInConstantTime } from '../../crypto/hash/keyed-hash.ts';
import { QuicError, TransportErrorCode } from '../errors.ts';
import type { DeliveryListener } from '../recovery/delivery.ts';
import { copyOf } from '../../collections/copy-bytes.ts';
import { FrameType } from '../wire/frame-types.ts';
import { RESET_TOKEN_SIZE } from '../wire/packet-header.ts';
import { SHORTEST_RESET } from '../protection/tokens.ts';
import { ACTIVE_CONNECTION_ID_LIMIT, MAX_LOCAL_IDS, MAX_RETIREMENTS } from './limits.ts';

const { PROTOCOL_VIOLATION, FRAME_ENCODING_ERROR, CONNECTION_ID_LIMIT_ERROR } = TransportErrorCode;

/** A connection id, and the token with which the endpoint that issued it resets the connection. */
export interface ConnectionId {
  readonly sequence: number;
  readonly id: Uint8Array;
  /** 16 bytes; `undefined` for an id of the handshake that came without one. */
  readonly resetToken: Uint8Array | undefined;
}

/** An id that NEW_CONNECTION_ID announces. */
export interface AnnouncedId extends ConnectionId {
  readonly resetToken: Uint8Array;
}

interface LocalId {
  readonly sequence: number;
  readonly id: Uint8Array;
  /** The frame that announces it; the id of the handshake needs none. */
  readonly frame: AnnouncedId | undefined;
  isDue: boolean;
  isKnown: boolean;
}

const isSame = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, index) => byte === b[index]);

/** The ids that this side has issued, to which the peer addresses its packets (RFC 9000 §5.1.1). */
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
   * @param first the id of the handshake. When it is empty, there are no others.
   * @param issue makes an id with its token, and directs its packets to this connection.
   * @param release is called when an id is used no more.
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

  /** The peer's active_connection_id_limit: as many are issued, up to our own bound. */
  setPeerLimit(limit: number): void {
    const isEmpty = this.#ids[0]?.id.length === 0;
    this.#limit = isEmpty ? 1 : Math.min(limit, MAX_LOCAL_IDS);
    this.#fill();
  }

  /** The next id to announce with NEW_CONNECTION_ID; the same until `onSent`. Its Retire Prior To is 0. */
  get due(): AnnouncedId | undefined {
    // A loop without a closure: asked for every packet.
    for (const entry of this.#ids) if (entry.isDue) return entry.frame;
    return undefined;
  }

  onSent(sequence: number): void {
    this.#largestSent = Math.max(this.#largestSent, sequence);
    this.#setDue(sequence, false);
  }

  /** The peer has received a frame that announced it. */
  onAcknowledged(sequence: number): void {
    const entry = this.#ids.find((one) => one.sequence === sequence);
    if (entry === undefined) return;
    entry.isKnown = true;
    entry.isDue = false;
  }

  /** A frame that announced it is lost. */
  onLost(sequence: number): void {
    this.#setDue(sequence, true);
  }

  /**
   * RETIRE_CONNECTION_ID arrived.
   * @param packetId the destination connection id of the packet that held it (§19.16).
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

  /** Releases all ids: the connection has ended. */
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

/** The id of a path that is not the one in use. */
interface PathId {
  readonly path: object;
  readonly id: ConnectionId;
  /** Whether the connection has moved away from the path. */
  readonly isLeft: boolean;
}

/**
 * The ids that the peer has issued, to which this side addresses its packets (RFC 9000 §5.1): one for the
 * path in use, and one for each other path, so that they cannot be linked (§9.5).
 *
 * They are used in the order of their sequence numbers: those before the last one used are in use, or
 * retired, or will be as soon as they arrive, so that nothing has to be remembered of them.
 */
export class PeerConnectionIds implements DeliveryListener {
  #current: ConnectionId;
  /** As many as there are other paths, at most. */
  #others: PathId[] = [];
  #largestUsed = 0;
  /** By sequence number, all above `#largestUsed`. */
  #spares: ConnectionId[] = [];
  /** Retired, and the peer has not acknowledged that. */
  readonly #retirements: { readonly sequence: number; isDue: boolean }[] = [];

  /** @param first for a client, the random id of its first packet; for a server, the client's id. */
  constructor(first: Uint8Array) {
    this.#current = { sequence: 0, id: first, resetToken: undefined };
  }

  /** The id for packets that are sent now. */
  get current(): Uint8Array {
    return this.#current.id;
  }

  /**
   * The id of the handshake is another one: that of the server's first packet or of a Retry (§7.2), or
   * its token came with the transport parameters (§10.3).
   */
  setFirst(id: Uint8Array, resetToken: Uint8Array | undefined): void {
    if (this.#current.sequence === 0) this.#current = { sequence: 0, id, resetToken };
  }

  /** NEW_CONNECTION_ID arrived (§19.15). */
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
   * The id for packets on a path that is not in use: one that was used on no other (§9.5). Where the peer
   * gave none, it is the one in use: this side opens no path itself, and sends only to an address from which
   * the peer's packets came. So it may go on with its id when a NAT has changed the address, and when a peer
   * moves on purpose without having given another one, the connection lives on.
   */
  idFor(path: object): Uint8Array {
    const known = this.#others.find((other) => other.path === path);
    if (known !== undefined) return known.id.id;
    const id = this.#takeSpare();
    if (id === undefined) return this.current;
    this.#others.push({ path, id, isLeft: false });
    return id.id;
  }

  /** The connection moves to a path, and to the id of that path; the former one keeps its own. */
  use(path: object, former: object): void {
    const index = this.#others.findIndex((other) => other.path === path);
    const id = index < 0 ? this.#takeSpare() : this.#others.splice(index, 1)[0]?.id;
    if (id === undefined) return;
    this.#others.push({ path: former, id: this.#current, isLeft: true });
    this.#current = id;
  }

  /** Whether there are ids for `retireUnused` to look at. */
  get hasOthers(): boolean {
    return this.#others.length > 0;
  }

  /** Retires the ids of paths that are not needed any more. */
  retireUnused(isNeeded: (path: object, isLeft: boolean) => boolean): void {
    this.#others = this.#others.filter(({ path, id, isLeft }) => {
      // Without room for it, it is retired later.
      return isNeeded(path, isLeft) || this.#retire(id.sequence) !== undefined;
    });
  }

  /** The sequence number of the next RETIRE_CONNECTION_ID; the same until `onRetirementSent`. */
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

  /** Whether a datagram is a stateless reset by the peer (§10.3.1): whether it ends with a token of it. */
  isStatelessReset(bytes: Uint8Array, offset: number, length: number): boolean {
    return length >= SHORTEST_RESET && this.isResetToken(bytes, offset + length - RESET_TOKEN_SIZE);
  }

  /**
   * Whether 16 bytes at the end of a datagram are the token of an id in use (§10.3.1), in a time that
   * does not depend on them.
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

  /** A sequence number has one id and one token, and an id one sequence number (§19.15). */
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
      // The id of the frame that retires others is not retired by it.
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
