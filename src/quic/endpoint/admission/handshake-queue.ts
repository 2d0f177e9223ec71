import type { ReceivedDatagrams } from '../../../ip/datagram-socket.ts';
import { copyEndpoint } from '../../../ip/ip-endpoint.ts';
import { Fifo } from '../../../collections/fifo.ts';
import { copyOf } from '../../../collections/copy-bytes.ts';
import type { Clock } from '../../../net/time/clock.ts';
import type { Defer } from '../../../net/time/turn-loop.ts';
import {
  HANDSHAKE_DATAGRAMS_A_TURN,
  HANDSHAKE_MS_A_TURN,
  MAX_WAITING_BYTES,
  MAX_WAITING_DATAGRAMS,
} from '../limits.ts';

/** One of so many is of a new client even while handshakes under way have others. */
const NEW_SHARE = 4;

/** A datagram that waits, without obfuscation. */
export interface Waiting extends ReceivedDatagrams {
  /** Bytes on the wire. */
  readonly size: number;
}

export interface HandshakeQueueOptions {
  readonly clock: Clock;
  readonly soon: Defer;
  /** Whether nothing can be sent now: then nothing is served. */
  readonly isBlocked: () => boolean;
  readonly serve: (waiting: Waiting) => void;
  /** Called when a turn has served its share. */
  readonly onServed: () => void;
}

/**
 * Datagrams of handshakes with clients. They wait until live connections are served, and are served
 * within limits of number and time a turn of the event loop: a signature of TLS takes a millisecond or
 * more. Those of handshakes under way come before new clients, but for every fourth, and wait only for
 * want of time.
 */
export class HandshakeQueue {
  readonly #known = new Fifo<Waiting>();
  readonly #new = new Fifo<Waiting>();
  readonly #options: HandshakeQueueOptions;
  #count = 0;
  #bytes = 0;
  #taken = 0;
  #isScheduled = false;
  /** Milliseconds of this turn that went into handshakes whose datagrams did not wait. */
  #spent = 0;

  constructor(options: HandshakeQueueOptions) {
    this.#options = options;
  }

  /** What waits, at most `MAX_WAITING_BYTES`. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Serves a datagram of a handshake under way at once, unless the share of this turn is used up or
   * others wait. In order it does best: what follows it may need its keys.
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

  /** Copies a datagram. Beyond the bounds it is dropped. */
  add(
    bytes: Uint8Array,
    offset: number,
    length: number,
    { peer, own, ecn }: ReceivedDatagrams,
    size: number,
    isKnown: boolean,
  ): void {
    if (this.#count >= MAX_WAITING_DATAGRAMS || this.#bytes + length > MAX_WAITING_BYTES) return;
    // Half of the room is for new clients: a few handshakes must not keep them out.
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
      size,
    });
  }

  /** Serves the share of a turn, unless a turn is due in which that happens anyway. */
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
      // Also after a defect of one handshake: those of others are answered and served.
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
