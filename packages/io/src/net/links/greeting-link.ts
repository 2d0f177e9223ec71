import { type Clock, FIRST_PAYLOAD_MS, type Timer } from '../time/clock.ts';
import type { ByteLink } from './link.ts';

/**
 * A link that sends `greeting` before the first payload, and in one write with it: a header on its
 * own would cost a packet and be recognizable by its length.
 *
 * With a `clock` the greeting is sent alone when there is no payload within FIRST_PAYLOAD_MS, since
 * in some protocols the server sends first. Without a `clock` it waits for the first payload. A half-close
 * sends it in any case.
 */
export class GreetingLink implements ByteLink {
  readonly #inner: ByteLink;
  #greeting: Uint8Array | undefined;
  #timer: Timer | undefined;

  constructor(inner: ByteLink, greeting: Uint8Array, clock?: Clock) {
    this.#inner = inner;
    this.#greeting = greeting;
    if (clock) this.greetSoon(clock);
  }

  /** Sends the greeting after FIRST_PAYLOAD_MS at the latest. */
  greetSoon(clock: Clock): void {
    if (this.#greeting === undefined || this.#timer) return;
    this.#timer = clock.after(FIRST_PAYLOAD_MS, () => {
      // A failed link reports its error to its readers and writers.
      this.#greet()?.catch(() => undefined);
    });
    void this.#inner.closed.then(() => this.#takeGreeting());
  }

  get closed(): Promise<Error | undefined> {
    return this.#inner.closed;
  }

  read(signal?: AbortSignal): Promise<Uint8Array | undefined> {
    return this.#inner.read(signal);
  }

  unread(chunk: Uint8Array): void {
    this.#inner.unread(chunk);
  }

  takeAhead(): Uint8Array | undefined {
    return this.#inner.takeAhead?.();
  }

  write(chunk: Uint8Array, isOwned?: boolean): Promise<void> | undefined {
    return this.#greeting === undefined
      ? this.#inner.write(chunk, isOwned)
      : this.writeOutput([chunk]);
  }

  writeOutput(chunks: readonly Uint8Array[], isOwned?: boolean): Promise<void> | undefined {
    const greeting = this.#takeGreeting();
    // Not passed as OWNED: the greeting may be in use elsewhere.
    return greeting
      ? this.#inner.writeOutput([greeting, ...chunks])
      : this.#inner.writeOutput(chunks, isOwned);
  }

  closeWrite(): Promise<void> {
    const full = this.#greet();
    return full ? full.then(() => this.#inner.closeWrite()) : this.#inner.closeWrite();
  }

  destroy(cause?: Error): void {
    this.#takeGreeting();
    this.#inner.destroy(cause);
  }

  resetAfterData(cause: Error): void {
    this.#takeGreeting();
    this.#inner.resetAfterData(cause);
  }

  #greet(): Promise<void> | undefined {
    const greeting = this.#takeGreeting();
    return greeting && this.#inner.write(greeting);
  }

  #takeGreeting(): Uint8Array | undefined {
    const greeting = this.#greeting;
    this.#greeting = undefined;
    this.#timer?.cancel();
    this.#timer = undefined;
    return greeting;
  }
}
