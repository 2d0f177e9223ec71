import { signal, type ReadonlySignal, type Signal } from '@preact/signals';
import { diff, patch } from '../shared/delta.ts';
import type { FailureText, JsonValue, StreamMessage, Watch } from '../shared/protocol.ts';

/** A signal of a topic's value, kept current while something reads it. */
export interface Watching<T> extends ReadonlySignal<T | undefined> {
  /** Why the topic has no value for the last parameters. */
  readonly failure: ReadonlySignal<FailureText | undefined>;
}

interface Entry {
  /** Id of the watch; a new one each time reading begins. */
  id: number;
  readonly topic: string;
  parameters: JsonValue;
  /** The last value of this stream, which differences refer to. */
  base: JsonValue | undefined;
  readonly value: Signal<unknown>;
  readonly failure: Signal<FailureText | undefined>;
  /** Key in the table of shared signals. */
  readonly shared: string | undefined;
}

/** The watches of the page: those signals of `watch` and `useWatch` that something reads. */
export class Watched {
  readonly #onList: () => void;
  /** Entries by their signals, including those that nothing reads. */
  readonly #entries = new WeakMap<object, Entry>();
  readonly #active = new Map<number, Entry>();
  readonly #shared = new Map<string, Watching<unknown>>();
  #list: readonly Watch[] = [];
  #lastId = 0;
  #isAnnounced = false;

  /** @param onList called after changes of `list` */
  constructor(onList: () => void) {
    this.#onList = onList;
  }

  /** The watches; the same array until something changes. */
  get list(): readonly Watch[] {
    return this.#list;
  }

  shared(topic: string, parameters: JsonValue): Watching<unknown> {
    const key = `${topic} ${JSON.stringify(parameters)}`;
    const found = this.#shared.get(key);
    if (found) return found;
    const made = this.create(topic, parameters, key);
    this.#shared.set(key, made);
    return made;
  }

  create(topic: string, parameters: JsonValue, shared?: string): Watching<unknown> {
    const value = signal<unknown>(undefined, {
      watched: () => this.#begin(entry),
      unwatched: () => this.#end(entry),
    });
    const failure = signal<FailureText | undefined>(undefined);
    const entry: Entry = { id: 0, topic, parameters, base: undefined, value, failure, shared };
    this.#entries.set(value, entry);
    return Object.assign(value, { failure });
  }

  setParameters(watching: Watching<unknown>, parameters: JsonValue): void {
    const entry = this.#entries.get(watching);
    if (!entry || !diff(entry.parameters, parameters)) return;
    entry.parameters = parameters;
    if (this.#active.has(entry.id)) this.#changed();
  }

  /** Prepares for a new stream, whose first differences are from `undefined`. */
  restart(): void {
    for (const entry of this.#active.values()) entry.base = undefined;
  }

  take(message: StreamMessage): void {
    const entry = this.#active.get(message.watch);
    // The watch has ended meanwhile.
    if (!entry) return;
    if ('error' in message) {
      entry.failure.value = message.error;
      return;
    }
    const next = patch(entry.base, message.delta);
    entry.base = entry.base === undefined ? keepEqual(entry.value.peek(), next) : next;
    entry.value.value = entry.base;
    entry.failure.value = undefined;
  }

  #begin(entry: Entry): void {
    entry.id = ++this.#lastId;
    entry.base = undefined;
    this.#active.set(entry.id, entry);
    this.#changed();
  }

  #end(entry: Entry): void {
    this.#active.delete(entry.id);
    if (entry.shared !== undefined) this.#shared.delete(entry.shared);
    this.#changed();
  }

  /** Combines the watches that begin and end in one microtask into one change. */
  #changed(): void {
    if (this.#isAnnounced) return;
    this.#isAnnounced = true;
    queueMicrotask(() => {
      this.#isAnnounced = false;
      this.#list = [...this.#active.values()].map(({ id, topic, parameters }) => ({
        id,
        topic,
        parameters,
      }));
      this.#onList();
    });
  }
}

/** `next`, with the objects of `shown` where they are equal: unchanged rows keep their identity across streams. */
function keepEqual(shown: unknown, next: JsonValue): JsonValue {
  if (shown === undefined) return next;
  const before = shown as JsonValue;
  const change = diff(before, next);
  return change ? patch(before, change) : before;
}
