import { LinkClosedError } from './errors.ts';
import type { Packet } from './link.ts';

/** Datagrams that may wait for a reader. */
const MAX_PACKETS = 256;
/** Bytes that may wait for a reader: a queue of large datagrams must not hold 16 MiB. */
const MAX_BYTES = 1024 * 1024;

/**
 * The receiving half of a PacketLink: bounded in datagrams and bytes; when it is full the newest
 * datagram is dropped and counted. One take may be pending.
 */
export class PacketQueue {
  readonly #packets: Packet[] = [];
  readonly #limit: number;
  #bytes = 0;
  #dropped = 0;
  #waiter: PromiseWithResolvers<Packet | undefined> | undefined;
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
    if (waiter) {
      this.#waiter = undefined;
      waiter.resolve(packet);
    } else if (
      this.#ended ||
      this.#packets.length >= this.#limit ||
      this.#bytes + packet.data.length > MAX_BYTES
    ) {
      this.#dropped++;
    } else {
      this.#bytes += packet.data.length;
      this.#packets.push(packet);
    }
  }

  /** The next datagram, `undefined` once the queue has ended; rejects when it ended with a cause. */
  take(): Promise<Packet | undefined> {
    if (this.#waiter) return Promise.reject(new LinkClosedError('a receive is already pending'));
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

  /** Drops queued datagrams and settles the pending take and every later one. Idempotent. */
  end(cause?: Error): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#cause = cause;
    this.#packets.length = 0;
    const waiter = this.#waiter;
    this.#waiter = undefined;
    if (cause) waiter?.reject(cause);
    else waiter?.resolve(undefined);
  }
}
