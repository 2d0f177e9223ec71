import type { Flow } from './flow.ts';

export type FlowEvent =
  | { readonly kind: 'opened'; readonly flow: Flow }
  | { readonly kind: 'closed'; readonly flow: Flow };

/** An event, or the number of events that the subscriber was too slow for. */
export type FlowNotice = FlowEvent | { readonly kind: 'lagged'; readonly missed: number };

/** Events that are buffered for slow subscribers. */
export const KEPT_EVENTS = 1024;

/**
 * The openings and closings of flows, for any number of readers.
 *
 * All readers share one ring buffer and have a position each, so that publishing stores an event once and
 * never waits. A reader that falls behind by more than the ring gets the number of missed events and
 * continues with the oldest that is left.
 */
export class FlowEvents {
  readonly #ring: (FlowEvent | undefined)[] = Array.from({ length: KEPT_EVENTS });
  readonly #readers = new Set<FlowSubscription>();
  /** Events published so far: the sequence number of the next one. */
  #published = 0;

  /** Events that readers, or clients behind them, were too slow for, in total. */
  missed = 0;

  get published(): number {
    return this.#published;
  }

  publish(event: FlowEvent): void {
    this.#ring[this.#published % KEPT_EVENTS] = this.#readers.size > 0 ? event : undefined;
    this.#published++;
    for (const reader of this.#readers) reader.wake();
  }

  /** Returns a reader that starts with the next event. */
  subscribe(): FlowSubscription {
    const reader: FlowSubscription = new FlowSubscription(this, () => {
      this.#readers.delete(reader);
      // Without readers the ring must not keep flows alive.
      if (this.#readers.size === 0) this.#ring.fill(undefined);
    });
    this.#readers.add(reader);
    return reader;
  }

  at(sequence: number): FlowEvent | undefined {
    return this.#ring[sequence % KEPT_EVENTS];
  }
}

/** One reader's position in the events. */
export class FlowSubscription {
  readonly #events: FlowEvents;
  readonly #onClose: () => void;
  #next: number;
  #waiter: (() => void) | undefined;
  #closed = false;

  constructor(events: FlowEvents, onClose: () => void) {
    this.#events = events;
    this.#onClose = onClose;
    this.#next = events.published;
  }

  /** Returns the next notice, if there is one. */
  poll(): FlowNotice | undefined {
    const oldest = this.#events.published - KEPT_EVENTS;
    if (this.#next < oldest) {
      const missed = oldest - this.#next;
      this.#next = oldest;
      return { kind: 'lagged', missed };
    }
    if (this.#next >= this.#events.published) return undefined;
    return this.#events.at(this.#next++);
  }

  /** Waits for the next notice; `undefined` after `close`. One call at a time. */
  async next(): Promise<FlowNotice | undefined> {
    for (;;) {
      if (this.#closed) return undefined;
      const notice = this.poll();
      if (notice) return notice;
      await new Promise<void>((resolve) => {
        this.#waiter = resolve;
      });
    }
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#onClose();
    this.wake();
  }

  /** Ends the wait of `next`; called by FlowEvents after an event. */
  wake(): void {
    const waiter = this.#waiter;
    this.#waiter = undefined;
    waiter?.();
  }
}
