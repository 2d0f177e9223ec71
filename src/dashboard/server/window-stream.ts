import type { EventWriter } from '../../local-http/event-writer.ts';
import { newToken } from '../../local-http/secret-check.ts';
import { ActionError } from '../action-error.ts';
import type { PageTopic } from '../contract.ts';
import { diff } from '../shared/delta.ts';
import type { Delta, FailureText, JsonValue, StreamHello, Watch } from '../shared/protocol.ts';
import { failureText } from './failure.ts';

/** Minimum milliseconds between two values of a watch with unchanged parameters. */
const TURN_MS = 250;

interface Watched {
  readonly topic: PageTopic | undefined;
  readonly name: string;
  parameters: JsonValue;
  /** The last value sent to the page. */
  last: JsonValue | undefined;
  /** The last failure sent to the page, as JSON. */
  failure: string;
  readonly held: DisposableStack;
}

export interface WindowStreamOptions {
  readonly writer: EventWriter;
  readonly topics: ReadonlyMap<string, PageTopic>;
  /** Called with errors that are defects. */
  readonly onDefect: (error: unknown) => void;
}

/**
 * The stream of one visible page. It computes values when something has changed and the page has received everything
 * sent before: a slow page gets fewer values, each of them complete by its differences. The writer disconnects a page
 * that stops reading.
 */
export class WindowStream {
  /** The stream's name in `PUT /streams/NAME`. */
  readonly name = newToken();
  readonly #options: WindowStreamOptions;
  readonly #watched = new Map<number, Watched>();
  #count = 0;
  #timer: NodeJS.Timeout | undefined;
  #lastTurn = -Infinity;
  #isDirty = false;

  constructor(options: WindowStreamOptions, watches: readonly Watch[]) {
    this.#options = options;
    options.writer.onReady = () => {
      if (this.#isDirty) this.touch();
    };
    options.writer.send(JSON.stringify({ stream: this.name } satisfies StreamHello));
    this.setWatches(watches);
  }

  /** Replaces the list of watches. New watches, and those with new parameters, are sent immediately. */
  setWatches(watches: readonly Watch[]): void {
    const kept = new Set(watches.map(({ id }) => id));
    for (const [id, { held }] of this.#watched) {
      if (kept.has(id)) continue;
      held.dispose();
      this.#watched.delete(id);
    }
    for (const { id, topic, parameters } of watches) {
      const known = this.#watched.get(id);
      if (known?.name === topic) {
        if (!diff(known.parameters, parameters)) continue;
        known.parameters = parameters;
      } else {
        known?.held.dispose();
        this.#watched.set(id, this.#begin(topic, parameters));
      }
      this.#send(id);
    }
  }

  /** Schedules an update, because something may have changed. */
  touch(): void {
    this.#isDirty = true;
    if (this.#timer || this.#options.writer.closed) return;
    const wait = Math.max(0, this.#lastTurn + TURN_MS - performance.now());
    this.#timer = setTimeout(() => this.#turn(), wait);
  }

  /** Releases the resources that its watches hold, after its writer has closed. */
  close(): void {
    clearTimeout(this.#timer);
    for (const { held } of this.#watched.values()) held.dispose();
    this.#watched.clear();
  }

  #begin(name: string, parameters: JsonValue): Watched {
    const topic = this.#options.topics.get(name);
    const held = new DisposableStack();
    if (topic?.hold) held.use(topic.hold());
    if (topic?.onChange) held.use(topic.onChange(() => this.touch()));
    return { topic, name, parameters, last: undefined, failure: '', held };
  }

  #turn(): void {
    this.#timer = undefined;
    // `onReady` calls again.
    if (!this.#options.writer.ready) return;
    this.#isDirty = false;
    this.#lastTurn = performance.now();
    for (const id of this.#watched.keys()) this.#send(id);
  }

  #send(id: number): void {
    const watched = this.#watched.get(id);
    if (!watched) return;
    const { topic, name, parameters } = watched;
    let value: JsonValue;
    try {
      if (!topic) throw new ActionError('not-found', `there is no topic ${JSON.stringify(name)}`);
      value = topic.view(parameters);
    } catch (error) {
      this.#sendFailure(id, watched, error);
      return;
    }
    const delta = diff(watched.last, value);
    const isRecovered = watched.failure !== '';
    watched.last = value;
    watched.failure = '';
    if (delta || isRecovered) this.#write(id, { delta: delta ?? { set: value } });
  }

  #sendFailure(id: number, watched: Watched, thrown: unknown): void {
    const isKnown = thrown instanceof ActionError;
    const error = isKnown ? thrown : new ActionError('internal', INTERNAL);
    const text = failureText(error);
    const json = JSON.stringify(text);
    if (json === watched.failure) return;
    watched.failure = json;
    if (!isKnown) this.#options.onDefect(thrown);
    this.#write(id, { error: text });
  }

  #write(
    watch: number,
    content: { readonly delta: Delta } | { readonly error: FailureText },
  ): void {
    this.#options.writer.send(JSON.stringify({ n: ++this.#count, watch, ...content }));
  }
}

const INTERNAL = 'an error in weir dashboard; its terminal has more';
