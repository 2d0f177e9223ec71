import type { Clock, Timer } from '../../net/time/clock.ts';
import { setImmediate as turn } from 'node:timers/promises';

/** How long the thread works for clients at a stretch, in milliseconds: traffic waits that long. */
const SLICE_MS = 2;

/** The share of the thread's time that a feed takes at most; the rest of its work comes later. */
const SHARE = 1 / 4;

/**
 * Serves many clients, each in its turn, in slices with a rest after each, so that any number of
 * clients leaves most of the thread's time to traffic. A round goes through all clients once.
 */
export class Rounds<Client> {
  readonly #clock: Clock;
  readonly #clients: Iterable<Client>;
  readonly #serve: (client: Client) => void;
  readonly #onEnd: () => void;
  /** What is left of the round that is under way. */
  #round: Iterator<Client> | undefined;
  #again = false;
  #restUntil = -Infinity;
  #timer: Timer | undefined;
  #immediate: NodeJS.Immediate | undefined;

  /** @param onEnd is called when a round is over. */
  constructor(
    clock: Clock,
    clients: Iterable<Client>,
    serve: (client: Client) => void,
    onEnd: () => void = () => undefined,
  ) {
    this.#clock = clock;
    this.#clients = clients;
    this.#serve = serve;
    this.#onEnd = onEnd;
  }

  /** Asks for a round that begins from now on. */
  request(): void {
    if (this.#round) this.#again = true;
    else this.#schedule();
  }

  stop(): void {
    this.#timer?.cancel();
    clearImmediate(this.#immediate);
    this.#timer = undefined;
    this.#immediate = undefined;
    this.#round = undefined;
    this.#again = false;
  }

  /** The next slice, after the rest: behind all other work of this turn of the loop. */
  #schedule(): void {
    if (this.#immediate || this.#timer) return;
    const wait = this.#restUntil - this.#clock.now();
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
    this.#onEnd();
    if (!this.#again) return;
    this.#again = false;
    this.#schedule();
  }
}

/** The clock is read once for this many items. */
const STRIDE = 64;

/**
 * Writes items one after the other with commas between. A long list gives way to other work every
 * few milliseconds; each item shows its state at the moment when it is written.
 */
export async function writeList<Item>(
  items: readonly Item[],
  write: (item: Item) => string,
  clock: Clock,
): Promise<Buffer[]> {
  const pieces: Buffer[] = [];
  let text = '';
  let start = clock.now();
  for (const [index, item] of items.entries()) {
    text += index === 0 ? write(item) : `,${write(item)}`;
    if (index % STRIDE !== STRIDE - 1 || clock.now() - start < SLICE_MS) continue;
    pieces.push(Buffer.from(text));
    text = '';
    await turn();
    start = clock.now();
  }
  pieces.push(Buffer.from(text));
  return pieces;
}
