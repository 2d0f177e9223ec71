import { hintsOf, WeirError } from '@weir/base';
import { eventText, type SseStream, LocalHttpError, newToken } from '@weir/server/local-http';
import { printableLines } from '@weir/base/printable';
import { ActionError } from '../parameters.ts';
import type { PageTopic } from '../contract.ts';
import { diff } from '../shared/delta.ts';
import type {
  ActionFailure,
  Delta,
  FailureText,
  JsonValue,
  StreamHello,
  Watch,
} from '../shared/protocol.ts';

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
  readonly writer: SseStream;
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
    this.#sendJson({ stream: this.name } satisfies StreamHello);
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
    this.#sendJson({ n: ++this.#count, watch, ...content });
  }

  #sendJson(value: object): void {
    this.#options.writer.send(eventText(undefined, JSON.stringify(value)));
  }
}

const INTERNAL = 'an error in weir dashboard; its terminal has more';

/** Maximum number of watches of one page. */
const MAX_WATCHES = 32;
/** Maximum size in bytes of the list of watches in JSON. */
export const MAX_WATCHES_BYTES = 64 << 10;

/** Maximum nesting of parameters; those of pages have three levels. */
const MAX_DEPTH = 16;

/**
 * Checks the parameters that a page sends: their nesting is bounded, so that comparing them may recurse.
 * @throws {LocalHttpError} 400
 */
export function checkedParameters(value: unknown): JsonValue {
  if (!isShallow(value, MAX_DEPTH)) {
    throw new LocalHttpError(400, 'bad-request', 'the parameters are nested too deeply');
  }
  return value as JsonValue;
}

const isShallow = (value: unknown, levels: number): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (levels > 0 && Object.values(value).every((part) => isShallow(part, levels - 1)));

/** The list of watches that a page sends. @throws {LocalHttpError} 400 */
export function parseWatches(value: unknown): readonly Watch[] {
  if (!Array.isArray(value) || value.length > MAX_WATCHES) throw invalid();
  const watches = value.map(parseWatch);
  if (new Set(watches.map(({ id }) => id)).size !== watches.length) throw invalid();
  return watches;
}

function parseWatch(value: unknown): Watch {
  if (typeof value !== 'object' || value === null) throw invalid();
  const { id, topic, parameters = null } = value as Readonly<Record<string, unknown>>;
  if (!Number.isSafeInteger(id) || typeof topic !== 'string') throw invalid();
  return { id: Number(id), topic, parameters: checkedParameters(parameters) };
}

const invalid = (): LocalHttpError =>
  new LocalHttpError(400, 'bad-request', 'the list of watches is invalid');

/** An error as a page shows it; text of other programs in it is escaped. */
export function failureText(error: WeirError): FailureText {
  const details = error instanceof ActionError ? error.details : undefined;
  return {
    code: error.code,
    message: printableLines(error.message),
    hints: hintsOf(error).map(printableLines),
    ...(details === undefined ? {} : { details }),
  };
}

/** An error as a response. */
export interface FailedResponse {
  readonly status: number;
  readonly body: ActionFailure;
}

/** The response to an action that has thrown; `undefined` if the error is a defect. */
export function failedResponse(error: unknown): FailedResponse | undefined {
  if (!(error instanceof WeirError)) return undefined;
  const isHttp = error instanceof ActionError || error instanceof LocalHttpError;
  return { status: isHttp ? error.status : 422, body: { error: failureText(error) } };
}
