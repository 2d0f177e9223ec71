import type { Flow } from './flow.ts';

export type FlowEvent =
  | { readonly kind: 'opened'; readonly flow: Flow }
  | { readonly kind: 'closed'; readonly flow: Flow };

/** What a subscriber reads: an event, or how many it was too slow for. */
export type FlowNotice = FlowEvent | { readonly kind: 'lagged'; readonly missed: number };

/** Events kept for subscribers that are behind. */
export const KEPT_EVENTS = 1024;

/**
 * The openings and closings of flows, for any number of readers.
 *
 * One ring serves all of them, each with its own position, so that publishing costs the same for any
 * number of readers and never waits. A reader that falls behind by more than the ring receives the
 * number of missed events and goes on from the oldest one kept.
 */
export class FlowEvents {
  readonly #ring: (FlowEvent | undefined)[] = Array.from({ length: KEPT_EVENTS });
  readonly #readers = new Set<FlowSubscription>();
  /** Events published so far: the sequence number of the next one. */
  #published = 0;

  get published(): number {
    return this.#published;
  }

  publish(event: FlowEvent): void {
    this.#ring[this.#published % KEPT_EVENTS] = this.#readers.size > 0 ? event : undefined;
    this.#published++;
    for (const reader of this.#readers) reader.wake();
  }

  /** Starts with the next event that is published. */
  subscribe(): FlowSubscription {
    const reader: FlowSubscription = new FlowSubscription(this, () => {
      this.#readers.delete(reader);
      // Without readers, the ring need not keep flows alive.
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

  /** The next notice, at once when there is one; `undefined` when there is nothing new. */
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

  /** Waits for the next notice; `undefined` once closed. One wait at a time. */
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

  /** Ends a wait; called by the events when there is something to read. */
  wake(): void {
    const waiter = this.#waiter;
    this.#waiter = undefined;
    waiter?.();
  }
}
