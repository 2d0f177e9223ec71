/**
 * The sink to which a protocol core reports its events: packets sent, packets dropped with the reason, states entered.
 * `Event` is a union discriminated by `kind`, so that a test can assert on events and a log writer can handle all of
 * them. `now` is the time of the call that caused the event, in milliseconds.
 *
 * A core holds an optional sink and builds an event only when there is one: `this.#trace?.({ kind: 'dropped', reason },
 * now)`. Without a sink that costs one comparison.
 */
export type TraceSink<Event extends { readonly kind: string }> = (
  event: Event,
  now: number,
) => void;
