import { type ReceivedDatagrams, copyEndpoint } from '@weir/base/ip';
import { Fifo } from '@weir/base/collections';
import { copyOf } from '@weir/base/bytes';
import type { Clock, Defer } from '@weir/io/time';
import {
  HANDSHAKE_DATAGRAMS_A_TURN,
  HANDSHAKE_MS_A_TURN,
  MAX_WAITING_BYTES,
  MAX_WAITING_DATAGRAMS,
} from '../../limits.ts';

/** Every fourth datagram served is one of a new client, even if others of handshakes in progress are queued. */
const NEW_SHARE = 4;

/** A queued datagram, without obfuscation. */
export interface Waiting extends ReceivedDatagrams {
  /** Bytes on the wire, obfuscation included. */
  readonly wireBytes: number;
}

export interface HandshakeQueueOptions {
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
  #bytes = 0;
  #taken = 0;
  #isScheduled = false;
  /** Milliseconds of this turn spent on datagrams that were not queued. */
  #spent = 0;

  constructor(options: HandshakeQueueOptions) {
    this.#options = options;
  }

  /** Bytes of the queued datagrams, at most `MAX_WAITING_BYTES`. */
  get bytes(): number {
    return this.#bytes;
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
    if (this.#count >= MAX_WAITING_DATAGRAMS || this.#bytes + length > MAX_WAITING_BYTES) return;
    // Half of the room is reserved for new clients: a few handshakes must not exclude them.
    if (isKnown && this.#known.size >= MAX_WAITING_DATAGRAMS / 2) return;
    this.#count++;
    this.#bytes += length;
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
    this.#bytes -= next.length;
    return next;
  }

  clear(): void {
    this.#known.clear();
    this.#new.clear();
    this.#count = this.#bytes = 0;
  }
}
