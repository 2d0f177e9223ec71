import type { Endpoint } from '../../net/address.ts';
import type { Clock, Timer } from '../../net/clock.ts';
import type { Packet, PacketLink, WireCounter } from '../../net/link.ts';
import { onClosed } from '../../net/on-closed.ts';
import { PacketQueue } from '../../net/packet-queue.ts';
import type { ReplyPath } from '../contract.ts';

/** An association without a datagram in either direction ends after this long. */
export const IDLE_MS = 300_000;

/** Turns answers into datagrams for one client. */
export interface AnswerSealer extends Disposable {
  seal(packet: Packet): Uint8Array | undefined;
}

/** The datagrams of one client, as the dispatcher carries them. */
export class Association implements PacketLink {
  readonly closed: Promise<Error | undefined>;
  readonly #resolveClosed: (cause: Error | undefined) => void;
  readonly #queue = new PacketQueue();
  readonly #clock: Clock;
  readonly #sealer: AnswerSealer;
  readonly #counts = { bytesRead: 0, bytesWritten: 0 };
  #client: Endpoint;
  #answers: ReplyPath | undefined;
  #forgetAnswers: (() => void) | undefined;
  #lastSeen: number;
  #timer: Timer;
  #refused = 0;
  #ended = false;

  constructor(client: Endpoint, sealer: AnswerSealer, clock: Clock) {
    this.#client = client;
    this.#sealer = sealer;
    this.#clock = clock;
    this.#lastSeen = clock.now();
    this.#timer = clock.after(IDLE_MS, () => this.#watch());
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    this.closed = promise;
    this.#resolveClosed = resolve;
  }

  /** Bytes of the client's datagrams. */
  get wire(): WireCounter {
    return this.#counts;
  }

  /** When the last datagram went in either direction, on the clock. */
  get lastSeen(): number {
    return this.#lastSeen;
  }

  get dropped(): number {
    return this.#refused + this.#queue.dropped;
  }

  /** Takes what a datagram of `size` bytes brought; answers go to where it came from. */
  deliver(packet: Packet, size: number, client: Endpoint, answers: ReplyPath): void {
    if (this.#ended) return;
    this.#lastSeen = this.#clock.now();
    this.#counts.bytesRead += size;
    if (client.host !== this.#client.host || client.port !== this.#client.port) {
      this.#client = client;
    }
    if (answers !== this.#answers) this.#answerBy(answers);
    this.#queue.push(packet);
  }

  receive(): Promise<Packet | undefined> {
    return this.#queue.take();
  }

  send(packet: Packet): void {
    const data = this.#ended ? undefined : this.#sealer.seal(packet);
    if (!data || !this.#answers) {
      this.#refused++;
      return;
    }
    this.#lastSeen = this.#clock.now();
    this.#counts.bytesWritten += data.length;
    this.#answers.send({ data, peer: this.#client });
  }

  close(cause?: Error): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#timer.cancel();
    this.#forgetAnswers?.();
    this.#queue.end(cause);
    this.#sealer[Symbol.dispose]();
    this.#resolveClosed(cause);
  }

  /** An association goes with the socket that its client speaks to. */
  #answerBy(answers: ReplyPath): void {
    this.#forgetAnswers?.();
    this.#answers = answers;
    this.#forgetAnswers = onClosed(answers.closed, () => this.close());
  }

  /** One timer a period: it looks back to the last datagram, none is set a packet. */
  #watch(): void {
    const left = this.#lastSeen + IDLE_MS - this.#clock.now();
    if (left <= 0) this.close();
    else this.#timer = this.#clock.after(left, () => this.#watch());
  }
}
