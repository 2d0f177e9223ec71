import type { Clock, Timer } from '../net/clock.ts';
import { DeadlineError } from '../net/errors.ts';
import type { MuxStream } from './mux-stream.ts';

/** Memory of what waits for one flow's reader, in bytes, before the carrier is no longer read. */
export const STREAM_BYTES = 512 * 1024;
/** The same for all flows of a carrier together. */
export const CARRIER_BYTES = 4 * 1024 * 1024;
/** How long a flow may hold up its carrier. */
export const HOLD_MS = 30_000;

/** A carrier that is not read, and why. */
interface Hold {
  /** The stream that has too much waiting; `undefined` when it is all of them together. */
  readonly stream: MuxStream | undefined;
  readonly over: PromiseWithResolvers<void>;
  /** Bytes that the readers took since it began. */
  taken: number;
  timer: Timer | undefined;
}

/**
 * What came for the streams of a carrier and was not read yet.
 *
 * Mux.Cool has no flow control of its own, so a stream whose reader is slow can only be held back
 * by not reading the carrier, which holds back all. That is done for HOLD_MS at most: a stream that
 * has not made half of its room by then is ended, and the others go on. One that is alone on its
 * carrier may be as slow as on a connection of its own, but has to move.
 */
export class Backlog {
  readonly #clock: Clock;
  readonly #streams: () => readonly MuxStream[];
  #bytes = 0;
  #hold: Hold | undefined;

  /** @param streams all streams of the carrier, asked for when one of them has to go. */
  constructor(clock: Clock, streams: () => readonly MuxStream[]) {
    this.#clock = clock;
    this.#streams = streams;
  }

  /** Books bytes of memory that wait, or with a minus sign, that do so no longer. */
  change(bytes: number): void {
    this.#bytes += bytes;
    if (!this.#hold) return;
    if (bytes < 0) this.#hold.taken -= bytes;
    if (this.#hasRoom(this.#hold)) this.release();
  }

  /** What to wait for after bytes were delivered to a stream, if anything. */
  room(stream: MuxStream): Promise<void> | undefined {
    const tooMuch = stream.queuedBytes > STREAM_BYTES;
    if (!tooMuch && this.#bytes <= CARRIER_BYTES) return undefined;
    const hold: Hold = {
      stream: tooMuch ? stream : undefined,
      over: Promise.withResolvers<void>(),
      taken: 0,
      timer: undefined,
    };
    this.#hold = hold;
    this.#limit(hold);
    return hold.over.promise;
  }

  /** Ends a wait, as well when the carrier is gone. */
  release(): void {
    const hold = this.#hold;
    this.#hold = undefined;
    hold?.timer?.cancel();
    hold?.over.resolve();
  }

  #hasRoom({ stream }: Hold): boolean {
    return stream
      ? stream.queuedBytes <= STREAM_BYTES / 2
      : this.#bytes <= CARRIER_BYTES - STREAM_BYTES;
  }

  #limit(hold: Hold): void {
    hold.timer = this.#clock.after(HOLD_MS, () => {
      const streams = this.#streams();
      const patient = hold.stream && streams.length === 1 && hold.taken > 0;
      hold.taken = 0;
      if (!patient) {
        const slowest = hold.stream ?? largest(streams);
        slowest?.destroy(new DeadlineError('the flow held up its mux carrier for 30 s'));
      }
      if (this.#hold === hold) this.#limit(hold);
    });
  }
}

const largest = (streams: readonly MuxStream[]): MuxStream | undefined =>
  streams.reduce<MuxStream | undefined>(
    (most, stream) => (most && most.queuedBytes >= stream.queuedBytes ? most : stream),
    undefined,
  );
