import type { Clock, Timer } from '../net/clock.ts';
import { KEPT_EVENTS, type FlowEvent, type FlowSubscription } from '../tracker/flow-events.ts';
import type { Tracker } from '../tracker/tracker.ts';
import { eventText, type EventStream } from './event-stream.ts';
import type { StartTimes } from './start-times.ts';
import { flowJson } from './views.ts';

/** One client and the number of the event that it gets next. */
interface Client {
  readonly stream: EventStream;
  next: number;
}

/** Several events as one piece for the socket; `end` is the number of the event behind it. */
interface Piece {
  readonly bytes: Buffer;
  readonly end: number;
}

/** About how long a piece is allowed to get, in characters. */
const PIECE_LENGTH = 64 << 10;

/** With many clients the events are gathered, so that the feed takes this part of the thread's time. */
const SHARE = 1 / 8;
/** Events are never held back for longer than so many milliseconds, nor more than half of the kept. */
const LONGEST_WAIT_MS = 250;
const MOST_WAITING = KEPT_EVENTS / 2;

/**
 * Sends the openings and closings of flows to any number of clients.
 *
 * The feed is one reader of the tracker, whoever listens, and keeps the last 1024 events for all its
 * clients; of a client it keeps a number. Clients that stand at the same place are sent the same
 * bytes. A client that falls behind by more than what is kept is told how many events it missed.
 */
export class FlowFeed {
  readonly #tracker: Tracker;
  readonly #clock: Clock;
  readonly #times: StartTimes;
  readonly #ring: (FlowEvent | undefined)[] = Array.from({ length: KEPT_EVENTS });
  readonly #clients = new Set<Client>();
  /** Events seen so far, those included that the tracker no longer had: the number of the next one. */
  #published = 0;
  #flushed = 0;
  #subscription: FlowSubscription | undefined;
  #timer: Timer | undefined;
  #immediate: NodeJS.Immediate | undefined;
  #restUntil = -Infinity;
  /** By the number of their first event, for clients that stand at the same place in one turn. */
  readonly #pieces = new Map<number, Piece>();

  constructor(tracker: Tracker, clock: Clock, times: StartTimes) {
    this.#tracker = tracker;
    this.#clock = clock;
    this.#times = times;
  }

  /** The client is sent everything that happens from now on. */
  readonly join = (stream: EventStream): void => {
    if (this.#subscription) {
      this.#collect(this.#subscription);
      this.#schedule();
    } else {
      void this.#watch();
    }
    const client: Client = { stream, next: this.#published };
    stream.onReady = () => this.#pump(client);
    stream.onClose = () => this.#leave(client);
    this.#clients.add(client);
  };

  get clients(): number {
    return this.#clients.size;
  }

  #leave(client: Client): void {
    this.#clients.delete(client);
    if (this.#clients.size > 0) return;
    this.#subscription?.close();
    this.#subscription = undefined;
    this.#timer?.cancel();
    this.#timer = undefined;
    clearImmediate(this.#immediate);
    this.#immediate = undefined;
    this.#ring.fill(undefined);
    this.#flushed = this.#published;
  }

  /** Runs while there are clients. */
  async #watch(): Promise<void> {
    const subscription = this.#tracker.events.subscribe();
    this.#subscription = subscription;
    for (;;) {
      const notice = await subscription.next();
      // After a close there may be another reader at work already: this one is done either way.
      if (!notice || this.#subscription !== subscription) return;
      this.#keep(notice);
      this.#collect(subscription);
      this.#schedule();
    }
  }

  #collect(subscription: FlowSubscription): void {
    for (;;) {
      const notice = subscription.poll();
      if (!notice) return;
      this.#keep(notice);
    }
  }

  #keep(notice: FlowEvent | { readonly kind: 'lagged'; readonly missed: number }): void {
    if (notice.kind === 'lagged') this.#published += notice.missed;
    else this.#ring[this.#published++ % KEPT_EVENTS] = notice;
  }

  /**
   * At once when the feed has rested long enough; else when its rest is over, or enough has gathered.
   * "At once" is behind whatever else this turn of the event loop has to do.
   */
  #schedule(): void {
    if (this.#immediate || this.#published === this.#flushed) return;
    const wait = this.#restUntil - this.#clock.now();
    if (wait <= 0 || this.#published - this.#flushed >= MOST_WAITING) {
      this.#timer?.cancel();
      this.#timer = undefined;
      this.#immediate = setImmediate(() => this.#flush());
    } else {
      this.#timer ??= this.#clock.after(wait, () => this.#flush());
    }
  }

  #flush(): void {
    this.#timer = undefined;
    this.#immediate = undefined;
    const start = this.#clock.now();
    for (const client of this.#clients) this.#pump(client);
    this.#flushed = this.#published;
    const end = this.#clock.now();
    this.#restUntil = end + Math.min((end - start) * (1 / SHARE - 1), LONGEST_WAIT_MS);
  }

  /** Sends a client its next piece, when it can take one and there is one. */
  #pump(client: Client): void {
    if (!client.stream.ready || client.next >= this.#published) return;
    const piece = this.#sharedPiece(client.next);
    client.next = piece.end;
    client.stream.send(piece.bytes);
  }

  #sharedPiece(start: number): Piece {
    let piece = this.#pieces.get(start);
    if (!piece) {
      if (this.#pieces.size === 0) setImmediate(() => this.#pieces.clear());
      piece = this.#pieceFrom(start);
      this.#pieces.set(start, piece);
    }
    return piece;
  }

  #pieceFrom(start: number): Piece {
    const oldest = this.#published - KEPT_EVENTS;
    const offset = this.#times.read();
    let text = start < oldest ? eventText('lagged', `{"missed":${oldest - start}}`) : '';
    let end = Math.max(start, oldest);
    for (; end < this.#published && text.length < PIECE_LENGTH; end++) {
      const event = this.#ring[end % KEPT_EVENTS];
      if (event) text += eventText(event.kind, flowJson(event.flow, offset));
    }
    return { bytes: Buffer.from(text), end };
  }
}
