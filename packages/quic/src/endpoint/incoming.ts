import type { RandomSource } from '@weir/base/random';
import { type ReceivedDatagrams, copyEndpoint } from '@weir/base/ip';
import { RateLimit } from '@weir/io/pace';
import type { ConnectionDriver } from './connection-driver.ts';
import type { PacketObfuscation, OutgoingBatches } from './driver.ts';
import type { ResetTokens } from '../protection/tokens.ts';
import { MAX_CONNECTION_ID } from '../wire/packet-header.ts';
import type { Clock, Defer } from '@weir/io/time';
import { type Acceptance, type ClientAdmission, reset } from './client-admission.ts';
import {
  LOCAL_ID_SIZE,
  RESETS_A_SECOND,
  HANDSHAKE_DATAGRAMS_A_TURN,
  HANDSHAKE_MS_A_TURN,
  MAX_WAITING_BYTES,
  MAX_WAITING_DATAGRAMS,
} from '../limits.ts';
import type { Connections } from './connections.ts';
import { Fifo } from '@weir/base/collections';
import { copyOf } from '@weir/base/bytes';

const LONG_HEADER = 0x80;
const FIXED_BIT = 0x40;
/** The offset of the destination connection id in a long header (RFC 8999 §5.1). */
const LONG_ID_OFFSET = 6;

interface IncomingOptions {
  readonly clock: Clock;
  readonly soon: Defer;
  /** Serves all connections that have work to do. */
  readonly run: () => void;
  readonly connections: Connections;
  readonly admission: ClientAdmission;
  readonly outgoing: OutgoingBatches;
  readonly obfuscation: PacketObfuscation | undefined;
  readonly random: RandomSource;
  readonly resetTokens: ResetTokens;
  /** Returns the maximum number of clients; `undefined` while none are accepted. */
  readonly maxConnections: () => number | undefined;
  /** Creates a connection for a new client; `undefined` when that fails. */
  readonly accept: (
    acceptance: Acceptance,
    received: ReceivedDatagrams,
    now: number,
  ) => ConnectionDriver | undefined;
}

/**
 * Passes each received datagram to the connection that has issued its destination connection id. A datagram for an
 * unknown id may come from a new client, be a stateless reset, or get one in response; others are dropped silently.
 * Handshakes of clients wait for their share of a turn.
 */
export class Incoming {
  readonly #options: IncomingOptions;
  readonly #resets = new RateLimit(RESETS_A_SECOND);
  readonly #handshakes: HandshakeQueue;

  constructor(options: IncomingOptions) {
    this.#options = options;
    const { clock, soon, outgoing, run } = options;
    this.#handshakes = new HandshakeQueue({
      clock,
      soon,
      isBlocked: () => outgoing.isBlocked,
      serve: (waiting) => this.#serve(waiting),
      onServed: run,
    });
  }

  /** Bytes of the datagrams in the handshake queue. */
  get waitingBytes(): number {
    return this.#handshakes.bytes;
  }

  /** Called when all received datagrams were routed: serves live connections first, then handshakes. */
  serveAll(): void {
    this.#options.run();
    this.#handshakes.run();
  }

  stop(): void {
    this.#handshakes.clear();
  }

  receive(received: ReceivedDatagrams, now: number): void {
    const { buffer, offset, length, stride } = received;
    const { obfuscation } = this.#options;
    const end = offset + length;
    let at = offset;
    while (at < end) {
      const size = Math.min(stride, end - at);
      if (obfuscation) {
        const payload = obfuscation.open(buffer.subarray(at, at + size));
        if (payload) this.#route(payload, 0, payload.length, received, now, size);
        at += stride;
      } else {
        at = this.#receiveRun(buffer, at, end, received, now);
      }
    }
  }

  /** Passes on the datagram at `at` and the following ones with the same id. Returns the offset after them. */
  #receiveRun(
    buffer: Uint8Array,
    at: number,
    end: number,
    received: ReceivedDatagrams,
    now: number,
  ): number {
    const { stride, peer, own, ecn } = received;
    const size = Math.min(stride, end - at);
    const owner = isShort(buffer, at, size)
      ? this.#options.connections.table.find(buffer, at + 1)
      : undefined;
    if (!owner) {
      this.#route(buffer, at, size, received, now, size);
      return at + stride;
    }
    let next = at + stride;
    while (isShort(buffer, next, end - next) && isSameId(buffer, at + 1, next + 1)) next += stride;
    const length = Math.min(next, end) - at;
    owner.receive(buffer, at, length, stride, peer, own, ecn, now, length);
    return next;
  }

  /** @param wireBytes bytes of the datagram on the wire, obfuscation included. */
  #route(
    bytes: Uint8Array,
    offset: number,
    length: number,
    received: ReceivedDatagrams,
    now: number,
    wireBytes: number,
  ): void {
    if (length <= LOCAL_ID_SIZE) return;
    const first = bytes[offset] as number; // `length` is not 0
    const isLong = (first & LONG_HEADER) !== 0;
    if (!isLong && (first & FIXED_BIT) === 0) return;
    const { peer, own, ecn } = received;
    const owner = isLong
      ? this.#ownerOfLong(bytes, offset, length)
      : this.#ownerOfShort(bytes, offset, length, received);
    if (owner && !(isLong && owner.core.role === 'server')) {
      owner.receive(bytes, offset, length, length, peer, own, ecn, now, wireBytes);
    } else if (owner) {
      const isServed = this.#handshakes.serveAtOnce(() =>
        owner.receive(bytes, offset, length, length, peer, own, ecn, now, wireBytes),
      );
      if (!isServed) this.#handshakes.add(bytes, offset, length, received, wireBytes, true);
    } else if (isLong) {
      if (this.#isPlausible(bytes, offset, length)) {
        this.#handshakes.add(bytes, offset, length, received, wireBytes, false);
      }
    } else {
      this.#reset(bytes, offset, length, received, now);
    }
  }

  #isPlausible(bytes: Uint8Array, offset: number, length: number): boolean {
    const { admission, maxConnections } = this.#options;
    return maxConnections() !== undefined && admission.isPlausible(bytes, offset, length);
  }

  /** Serves a queued datagram: its connection may have been created or ended meanwhile. */
  #serve(waiting: Waiting): void {
    const { buffer, length, peer, own, ecn, wireBytes } = waiting;
    const now = this.#options.clock.now();
    const owner = this.#ownerOfLong(buffer, 0, length);
    if (owner) owner.receive(buffer, 0, length, length, peer, own, ecn, now, wireBytes);
    else this.#admit(buffer, 0, length, waiting, now, wireBytes);
  }

  #ownerOfShort(
    bytes: Uint8Array,
    offset: number,
    length: number,
    { peer }: ReceivedDatagrams,
  ): ConnectionDriver | undefined {
    const { connections } = this.#options;
    return (
      connections.table.find(bytes, offset + 1) ??
      connections.findByReset(bytes, offset, length, peer)
    );
  }

  #ownerOfLong(bytes: Uint8Array, offset: number, length: number): ConnectionDriver | undefined {
    const { table } = this.#options.connections;
    const idAt = offset + LONG_ID_OFFSET;
    const idSize = bytes[idAt - 1] as number; // within: `length` is more than `LOCAL_ID_SIZE`
    if (idSize > MAX_CONNECTION_ID || LONG_ID_OFFSET + idSize > length) return undefined;
    const owner = idSize === LOCAL_ID_SIZE ? table.find(bytes, idAt) : undefined;
    return owner ?? table.findChosen(bytes, idAt, idSize);
  }

  #admit(
    bytes: Uint8Array,
    offset: number,
    length: number,
    received: ReceivedDatagrams,
    now: number,
    wireBytes: number,
  ): void {
    const { outgoing, admission, connections, accept } = this.#options;
    const maxConnections = this.#options.maxConnections();
    if (maxConnections === undefined || outgoing.isBlocked) return;
    const { peer, own, ecn } = received;
    const verdict = admission.judge(
      bytes,
      offset,
      length,
      peer,
      connections.occupancyFor(peer, now),
      maxConnections,
      now,
      outgoing.next().buffer,
    );
    if (verdict.kind === 'respond') this.#sendStateless(received, verdict.length);
    if (verdict.kind !== 'accept') return;
    connections.makeRoom(peer, maxConnections, now);
    const client = accept(verdict, received, now);
    if (!client) return;
    connections.addChosenId(client, bytes, verdict.chosenIdOffset, verdict.chosenIdSize);
    client.receive(bytes, offset, length, length, peer, own, ecn, now, wireBytes);
  }

  #reset(
    bytes: Uint8Array,
    offset: number,
    length: number,
    received: ReceivedDatagrams,
    now: number,
  ): void {
    const { outgoing, resetTokens, random, obfuscation } = this.#options;
    // Obfuscated datagrams are not authenticated: a response to random bytes would reveal the server to a probe.
    if (obfuscation || outgoing.isBlocked || !this.#resets.take(now)) return;
    const { buffer } = outgoing.next();
    const written = reset(buffer, bytes, offset, length, resetTokens, random);
    if (written > 0) this.#sendStateless(received, written);
  }

  /** Sends the first `length` bytes of the next batch in response to a datagram. */
  #sendStateless({ peer, own }: ReceivedDatagrams, length: number): void {
    const { outgoing } = this.#options;
    const batch = outgoing.next();
    batch.begin(peer, own);
    batch.length = length;
    outgoing.push(undefined);
  }
}

/** Whether a packet has a short header and is long enough to carry an id of this endpoint. */
const isShort = (bytes: Uint8Array, at: number, length: number): boolean =>
  length > LOCAL_ID_SIZE && ((bytes[at] as number) & (LONG_HEADER | FIXED_BIT)) === FIXED_BIT;

function isSameId(bytes: Uint8Array, one: number, other: number): boolean {
  for (let i = 0; i < LOCAL_ID_SIZE; i++) if (bytes[one + i] !== bytes[other + i]) return false;
  return true;
}

/** Every fourth datagram served is one of a new client, even if others of handshakes in progress are queued. */
const NEW_SHARE = 4;

/** A queued datagram, without obfuscation. */
interface Waiting extends ReceivedDatagrams {
  /** Bytes on the wire, obfuscation included. */
  readonly wireBytes: number;
}

interface HandshakeQueueOptions {
  readonly clock: Clock;
  readonly soon: Defer;
  /** Whether the send buffer is full: nothing is served then. */
  readonly isBlocked: () => boolean;
  readonly serve: (waiting: Waiting) => void;
  /** Called when a turn has served its share. */
  readonly onServed: () => void;
}

/**
 * Queues the datagrams of handshakes with clients. They are served after live connections, within limits of number and
 * time per turn of the event loop: a TLS signature takes a millisecond or more. Datagrams of handshakes in progress are
 * queued only when the turn's time is used up or others wait. They leave the queue first; every fourth datagram is one
 * of a new client.
 */
export class HandshakeQueue {
  readonly #known = new Fifo<Waiting>();
  readonly #new = new Fifo<Waiting>();
  readonly #options: HandshakeQueueOptions;
  #count = 0;
  /** Bytes of the queued datagrams, at most `MAX_WAITING_BYTES`. */
  bytes = 0;
  #taken = 0;
  #isScheduled = false;
  /** Milliseconds of this turn spent on datagrams that were not queued. */
  #spent = 0;

  constructor(options: HandshakeQueueOptions) {
    this.#options = options;
  }

  /**
   * Serves a datagram of a handshake in progress at once, unless the share of this turn is used up or others
   * are queued: the order matters, because the packets that follow may need its keys.
   *
   * @returns whether it was served; if not, it has to be added.
   */
  serveAtOnce(serve: () => void): boolean {
    if (this.#known.size > 0 || this.#spent >= HANDSHAKE_MS_A_TURN) return false;
    const { clock } = this.#options;
    const start = clock.now();
    serve();
    this.#spent += clock.now() - start;
    return true;
  }

  /** Queues a copy of a datagram. Beyond the bounds the datagram is dropped. */
  add(
    bytes: Uint8Array,
    offset: number,
    length: number,
    { peer, own, ecn }: ReceivedDatagrams,
    wireBytes: number,
    isKnown: boolean,
  ): void {
    if (this.#count >= MAX_WAITING_DATAGRAMS || this.bytes + length > MAX_WAITING_BYTES) return;
    // Half of the room is reserved for new clients: a few handshakes must not exclude them.
    if (isKnown && this.#known.size >= MAX_WAITING_DATAGRAMS / 2) return;
    this.#count++;
    this.bytes += length;
    (isKnown ? this.#known : this.#new).push({
      buffer: copyOf(bytes, offset, offset + length),
      offset: 0,
      length,
      stride: length,
      peer: copyEndpoint(peer),
      own: own && copyEndpoint(own),
      ecn,
      wireBytes,
    });
  }

  /** Serves the share of a turn, unless a further turn is already scheduled. */
  run(): void {
    const { clock, isBlocked, serve, onServed } = this.#options;
    this.#spent = 0;
    if (this.#isScheduled || this.#count === 0) return;
    const end = clock.now() + HANDSHAKE_MS_A_TURN;
    try {
      for (let left = HANDSHAKE_DATAGRAMS_A_TURN; left > 0 && !isBlocked(); left--) {
        const next = this.#take();
        if (next === undefined) break;
        serve(next);
        if (clock.now() >= end) break;
      }
    } finally {
      // Even if a handshake throws: others are responded to and served.
      onServed();
      if (this.#count > 0 && !isBlocked()) {
        this.#isScheduled = true;
        this.#options.soon(this.#onTurn);
      }
    }
  }

  readonly #onTurn = (): void => {
    this.#isScheduled = false;
    this.run();
  };

  #take(): Waiting | undefined {
    const isTurnOfNew = this.#taken++ % NEW_SHARE === NEW_SHARE - 1;
    const [first, second] = isTurnOfNew ? [this.#new, this.#known] : [this.#known, this.#new];
    const next = first.shift() ?? second.shift();
    if (next === undefined) return undefined;
    this.#count--;
    this.bytes -= next.length;
    return next;
  }

  clear(): void {
    this.#known.clear();
    this.#new.clear();
    this.#count = this.bytes = 0;
  }
}
