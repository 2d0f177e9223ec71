import { type Clock, type Timer, TurnShare } from '@weir/io/time';

/** Milliseconds of uninterrupted work for clients; traffic waits that long. */
const SLICE_MS = 2;

/** Maximum share of the thread's time for a feed. */
const SHARE = 1 / 4;

/**
 * Serves many clients in slices with a pause after each, so that any number of clients leaves most
 * of the thread's time to traffic. A round serves each client once.
 */
export class Rounds<Client> {
  readonly #clock: Clock;
  readonly #clients: Iterable<Client>;
  readonly #serve: (client: Client) => void;
  readonly #onEnd: () => void;
  readonly #gatherMs: number;
  /** The remaining clients of the current round. */
  #round: Iterator<Client> | undefined;
  #again = false;
  #urgent = false;
  #restUntil = -Infinity;
  #gatherUntil = -Infinity;
  #timer: Timer | undefined;
  #immediate: NodeJS.Immediate | undefined;

  /**
   * @param onEnd called at the end of a round
   * @param gatherMs pause after a round, in milliseconds: requests during it share the next round
   */
  constructor(
    clock: Clock,
    clients: Iterable<Client>,
    serve: (client: Client) => void,
    onEnd: () => void = () => undefined,
    gatherMs = 0,
  ) {
    this.#clock = clock;
    this.#clients = clients;
    this.#serve = serve;
    this.#onEnd = onEnd;
    this.#gatherMs = gatherMs;
  }

  /**
   * Requests a round that starts after this call.
   *
   * @param urgent whether to skip the pause that gathers further requests
   */
  request(urgent = false): void {
    if (this.#round) {
      this.#again = true;
      this.#urgent ||= urgent;
      return;
    }
    if (urgent && this.#gatherUntil > this.#restUntil) {
      this.#gatherUntil = -Infinity;
      this.#timer?.cancel();
      this.#timer = undefined;
    }
    this.#schedule();
  }

  stop(): void {
    this.#timer?.cancel();
    clearImmediate(this.#immediate);
    this.#timer = undefined;
    this.#immediate = undefined;
    this.#round = undefined;
    this.#again = false;
    this.#urgent = false;
  }

  /** Schedules the next slice after the pause, behind all other work of this turn of the event loop. */
  #schedule(): void {
    if (this.#immediate || this.#timer) return;
    const wait = Math.max(this.#restUntil, this.#gatherUntil) - this.#clock.now();
    if (wait <= 0) {
      this.#immediate = setImmediate(() => this.#slice());
    } else {
      this.#timer = this.#clock.after(wait, () => this.#slice());
    }
  }

  #slice(): void {
    this.#timer = undefined;
    this.#immediate = undefined;
    this.#round ??= this.#clients[Symbol.iterator]();
    const start = this.#clock.now();
    let now = start;
    let next = this.#round.next();
    while (next.done !== true) {
      this.#serve(next.value);
      now = this.#clock.now();
      if (now - start >= SLICE_MS) break;
      next = this.#round.next();
    }
    this.#restUntil = now + (now - start) * (1 / SHARE - 1);
    if (next.done !== true) {
      this.#schedule();
      return;
    }
    this.#round = undefined;
    if (!this.#urgent) this.#gatherUntil = now + this.#gatherMs;
    this.#urgent = false;
    this.#onEnd();
    if (!this.#again) return;
    this.#again = false;
    this.#schedule();
  }
}

/** Items written without a break, which takes some 0.2 ms. */
const STRIDE = 64;
/**
 * Strides per turn of the event loop, for all lists of the process: a hundred clients may request one at the same time.
 */
export const STRIDES_A_TURN = 8;

const strides = new TurnShare(STRIDES_A_TURN);

/**
 * Writes items separated by commas. Long or concurrent lists yield to other work; each item has its state at the time
 * it is written.
 */
export async function writeList<Item>(
  items: readonly Item[],
  write: (item: Item) => string,
): Promise<Buffer[]> {
  const pieces: Buffer[] = [];
  for (let at = 0; at < items.length; at += STRIDE) {
    const turn = strides.take();
    if (turn) await turn;
    const text = items
      .slice(at, at + STRIDE)
      .map((item) => write(item))
      .join(',');
    pieces.push(Buffer.from(at === 0 ? text : `,${text}`));
  }
  return pieces;
}
