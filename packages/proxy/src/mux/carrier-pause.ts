import type { Clock, Timer } from '@weir/io/time';
import { DeadlineError } from '@weir/io';
import type { MuxStream } from './mux-stream.ts';

/** Unread data of one flow, in bytes of memory, beyond which the carrier is not read. */
export const STREAM_BYTES = 512 * 1024;
/** Unread data of all flows of a carrier together, beyond which it is not read. */
const CARRIER_BYTES = 4 * 1024 * 1024;
/** Longest time in milliseconds for which a flow may pause its carrier. */
export const HOLD_MS = 30_000;

/** A pause of reading the carrier. */
interface Hold {
  /** The stream with too much unread data; `undefined` when it is the sum of all streams. */
  readonly stream: MuxStream | undefined;
  readonly over: PromiseWithResolvers<void>;
  /** Bytes read from streams since the pause began. */
  taken: number;
  timer: Timer | undefined;
}

/**
 * Pauses the reading of a carrier while its streams have too much unread data.
 *
 * Mux.Cool has no flow control, so the only way to slow down a stream is not to read the carrier,
 * which stops all streams. A pause lasts HOLD_MS at most: then a stream of which less than half was
 * read is ended, and the others continue. A stream that is alone on its carrier may be as slow as on
 * a connection of its own, but not stalled.
 */
export class CarrierPause {
  readonly #clock: Clock;
  readonly #streams: () => readonly MuxStream[];
  #bytes = 0;
  #hold: Hold | undefined;

  /** @param streams returns all streams of the carrier; called when one of them has to be ended. */
  constructor(clock: Clock, streams: () => readonly MuxStream[]) {
    this.#clock = clock;
    this.#streams = streams;
  }

  /** Adds to the unread data, in bytes of memory; negative when data was read. */
  change(bytes: number): void {
    this.#bytes += bytes;
    if (!this.#hold) return;
    if (bytes < 0) this.#hold.taken -= bytes;
    if (this.#hasRoom(this.#hold)) this.release();
  }

  /** Returns a promise that is pending while the carrier must not be read; `undefined` when it may be read at once. */
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

  /** Ends a pause, also when the carrier has ended. */
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
