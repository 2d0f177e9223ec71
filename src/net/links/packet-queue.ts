import { asError } from '../../errors.ts';
import { keptData } from '../bounds/datagram-cost.ts';
import { LinkClosedError } from '../errors.ts';
import type { Packet } from './link.ts';

/** Datagrams that may wait for a reader. */
const MAX_PACKETS = 256;
/** Bytes that may wait for a reader: a queue of large datagrams must not hold 16 MiB. */
const MAX_BYTES = 1024 * 1024;

/**
 * The receiving half of a PacketLink: bounded in datagrams and bytes; when it is full the newest
 * datagram is dropped and counted. One take may be pending.
 *
 * The newest, because those that wait are in order and will be read, and because it costs nothing: a
 * reader that is behind for longer than the queue lasts loses as many either way.
 */
export class PacketQueue {
  readonly #packets: Packet[] = [];
  readonly #limit: number;
  #bytes = 0;
  #dropped = 0;
  #waiter: PromiseWithResolvers<Packet | undefined> | undefined;
  /** Takes every datagram as it comes, and what its owner waits for. */
  #sink: ({ readonly take: (packet: Packet) => void } & PromiseWithResolvers<void>) | undefined;
  #ended = false;
  #cause: Error | undefined;

  constructor(limit = MAX_PACKETS) {
    this.#limit = limit;
  }

  /** Datagrams that were dropped because the queue was full or had ended. */
  get dropped(): number {
    return this.#dropped;
  }

  push(packet: Packet): void {
    const waiter = this.#waiter;
    if (this.#sink) {
      this.#pass(packet, this.#sink.take);
    } else if (waiter) {
      this.#waiter = undefined;
      waiter.resolve(packet);
    } else if (
      this.#ended ||
      this.#packets.length >= this.#limit ||
      this.#bytes + packet.data.length > MAX_BYTES
    ) {
      this.#dropped++;
    } else {
      const data = keptData(packet.data);
      this.#bytes += data.length;
      this.#packets.push(data === packet.data ? packet : { data, peer: packet.peer });
    }
  }

  /** The next datagram, `undefined` once the queue has ended; rejects when it ended with a cause. */
  take(): Promise<Packet | undefined> {
    if (this.#waiter || this.#sink) return Promise.reject(pending());
    const packet = this.#packets.shift();
    if (packet) {
      this.#bytes -= packet.data.length;
      return Promise.resolve(packet);
    }
    if (this.#cause) return Promise.reject(this.#cause);
    if (this.#ended) return Promise.resolve(undefined);
    this.#waiter = Promise.withResolvers();
    return this.#waiter.promise;
  }

  /**
   * Passes every datagram to `take` from now on. Resolves when the queue ends; rejects when it ends
   * with a cause, or with what `take` throws, which ends it.
   */
  takeAll(take: (packet: Packet) => void): Promise<void> {
    if (this.#waiter || this.#sink) return Promise.reject(pending());
    if (this.#cause) return Promise.reject(this.#cause);
    if (this.#ended) return Promise.resolve();
    const waiting = this.#packets.splice(0);
    this.#bytes = 0;
    const sink = { take, ...Promise.withResolvers<void>() };
    this.#sink = sink;
    for (const packet of waiting) if (!this.#ended) this.#pass(packet, take);
    return sink.promise;
  }

  /** Drops queued datagrams and settles the pending take, that of all, and every later one. Idempotent. */
  end(cause?: Error): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#cause = cause;
    this.#packets.length = 0;
    const waiter = this.#waiter;
    this.#waiter = undefined;
    const sink = this.#sink;
    this.#sink = undefined;
    if (cause) {
      waiter?.reject(cause);
      sink?.reject(cause);
    } else {
      waiter?.resolve(undefined);
      sink?.resolve();
    }
  }

  #pass(packet: Packet, take: (packet: Packet) => void): void {
    try {
      take(packet);
    } catch (error) {
      this.end(asError(error));
    }
  }
}

const pending = (): LinkClosedError => new LinkClosedError('a receive is already pending');
