import { asError } from '@weir/base';
import { LinkClosedError } from '../errors.ts';
import type { Packet } from '../links/link.ts';

/** A consumer that receives every datagram as it arrives, until `ended` settles. */
interface Taker {
  readonly take: (packet: Packet) => void;
  readonly ended: PromiseWithResolvers<void>;
}

/** `receive` and `receiveAll` of a PacketLink, one of which may be pending. */
export abstract class ReceivingPackets {
  #next: PromiseWithResolvers<Packet | undefined> | undefined;
  #taker: Taker | undefined;
  #isEnded = false;
  #cause: Error | undefined;

  /** Removes and returns the oldest queued datagram. */
  protected abstract shift(): Packet | undefined;

  /** Returns the next datagram, `undefined` after the end; rejects when it ended with a cause. */
  receive(): Promise<Packet | undefined> {
    if (this.#isPending()) return Promise.reject(alreadyPending());
    if (this.#cause) return Promise.reject(this.#cause);
    if (this.#isEnded) return Promise.resolve(undefined);
    const packet = this.shift();
    if (packet) return Promise.resolve(packet);
    this.#next = Promise.withResolvers();
    return this.#next.promise;
  }

  /**
   * Passes every datagram to `take` from now on. Resolves at the end; rejects with the cause of the end, or with the
   * error of `take`, which ends it.
   */
  receiveAll(take: (packet: Packet) => void): Promise<void> {
    if (this.#isPending()) return Promise.reject(alreadyPending());
    if (this.#cause) return Promise.reject(this.#cause);
    if (this.#isEnded) return Promise.resolve();
    const ended = Promise.withResolvers<void>();
    this.#taker = { take, ended };
    this.passWaiting();
    return ended.promise;
  }

  protected get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Passes a datagram to the pending receive; returns false when there is none. */
  protected pass(packet: Packet): boolean {
    if (this.#taker) {
      try {
        this.#taker.take(packet);
      } catch (error) {
        this.endReceiving(asError(error));
      }
      return true;
    }
    const next = this.#next;
    this.#next = undefined;
    next?.resolve(packet);
    return next !== undefined;
  }

  /** Passes the queued datagrams while a receive is pending. */
  protected passWaiting(): void {
    while (this.#isPending()) {
      const packet = this.shift();
      if (!packet) return;
      this.pass(packet);
    }
  }

  /** Settles the pending receive and every later one. Idempotent. */
  protected endReceiving(cause: Error | undefined): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#cause = cause;
    const [next, taker] = [this.#next, this.#taker];
    this.#next = undefined;
    this.#taker = undefined;
    if (cause) {
      next?.reject(cause);
      taker?.ended.reject(cause);
    } else {
      next?.resolve(undefined);
      taker?.ended.resolve();
    }
  }

  #isPending(): boolean {
    return this.#next !== undefined || this.#taker !== undefined;
  }
}

const alreadyPending = (): LinkClosedError => new LinkClosedError('a receive is already pending');
