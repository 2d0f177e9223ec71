import type { TraceSink } from '@weir/io';

/** Keeps the events of a core in order, for tests to assert on. */
export class TraceRecorder<Event extends { readonly kind: string }> {
  readonly events: { readonly event: Event; readonly now: number }[] = [];

  readonly sink: TraceSink<Event> = (event, now) => {
    this.events.push({ event, now });
  };

  /** The events of one kind. */
  of<Kind extends Event['kind']>(kind: Kind): readonly Extract<Event, { kind: Kind }>[] {
    return this.events
      .map(({ event }) => event)
      .filter((event): event is Extract<Event, { kind: Kind }> => event.kind === kind);
  }
}
