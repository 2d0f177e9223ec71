import { WeirError } from '@weir/base';

/** A server-sent event. */
export interface ServerEvent {
  readonly event: string;
  readonly data: string;
}

/** Maximum characters of a line; the longest are traffic samples, with some hundred bytes per tag. */
const MAX_LINE = 16 << 20;

const EVENT = 'event: ';
const DATA = 'data: ';

/**
 * Parses the API's server-sent events from arbitrary chunks: each event is an `event` and a `data` line, then an empty
 * one. Comments and fields that the API does not send are skipped.
 */
export class EventReader {
  /** Chunks of an incomplete line, joined once at its end. */
  #line: string[] = [];
  /** Number of characters in `#line`. */
  #length = 0;
  #event: string | undefined;
  #data: string | undefined;

  /**
   * Parses the next chunk and returns the events that it completes.
   * @throws {WeirError} when a line is longer than any of the API
   */
  push(text: string): ServerEvent[] {
    const found: ServerEvent[] = [];
    const [first = '', ...others] = text.split('\n');
    this.#line.push(first);
    this.#length += first.length;
    for (const next of others) {
      const event = this.#endLine(this.#line.join(''));
      if (event) found.push(event);
      this.#line = [next];
      this.#length = next.length;
    }
    if (this.#length > MAX_LINE) {
      throw new WeirError('event_stream', `a line is longer than ${MAX_LINE} characters`);
    }
    return found;
  }

  #endLine(line: string): ServerEvent | undefined {
    if (line.startsWith(EVENT)) this.#event = line.slice(EVENT.length);
    else if (line.startsWith(DATA)) this.#data = line.slice(DATA.length);
    if (line !== '') return undefined;
    const [event, data] = [this.#event, this.#data];
    this.#event = this.#data = undefined;
    return event === undefined || data === undefined ? undefined : { event, data };
  }
}
