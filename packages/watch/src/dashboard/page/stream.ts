import type { JsonValue, StreamHello, StreamMessage, Watch } from '../shared/protocol.ts';

export type PageStreamEnd =
  /** The connection has failed or ended. */
  | 'lost'
  /** A message is missing, or the dashboard no longer knows the stream. */
  | 'gap'
  /** There is no session. */
  | 'unauthorized'
  | 'too-many';

export interface PageStreamOptions {
  readonly watches: readonly Watch[];
  readonly send: (
    method: string,
    path: string,
    body: JsonValue,
    abort?: AbortSignal,
  ) => Promise<Response>;
  readonly onOpen: () => void;
  readonly onMessage: (message: StreamMessage) => void;
  readonly onHeard: () => void;
  readonly onEnd: (end: PageStreamEnd) => void;
}

/** Milliseconds of silence after which the connection is lost: the dashboard sends a comment at least every 15 s. */
const SILENCE_MS = 40_000;
const DATA = 'data: ';

/** A stream of values from the dashboard, until it ends or is closed. */
export class PageStream {
  readonly #options: PageStreamOptions;
  readonly #abort = new AbortController();
  #silence: ReturnType<typeof setTimeout> | undefined;
  #watches: readonly Watch[];
  #name: string | undefined;
  #expected = 1;
  #isSending = false;
  #isEnded = false;

  constructor(options: PageStreamOptions) {
    this.#options = options;
    this.#watches = options.watches;
    void this.#run();
  }

  /** Ends the stream without a call of `onEnd`. */
  close(): void {
    this.#isEnded = true;
    clearTimeout(this.#silence);
    this.#abort.abort();
  }

  /** Replaces the list of watches. While a request is in flight, only the latest list is sent after it. */
  setWatches(watches: readonly Watch[]): void {
    this.#watches = watches;
    if (this.#name !== undefined && !this.#isSending) void this.#sendWatches(this.#name);
  }

  async #sendWatches(name: string): Promise<void> {
    this.#isSending = true;
    let sent: readonly Watch[] | undefined;
    while (sent !== this.#watches && !this.#isEnded) {
      sent = this.#watches;
      try {
        const { send } = this.#options;
        const response = await send('PUT', `/streams/${name}`, jsonOf(sent), this.#abort.signal);
        if (!response.ok) this.#end(endOf(response));
      } catch {
        this.#end('lost');
      }
    }
    this.#isSending = false;
  }

  async #run(): Promise<void> {
    const sent = this.#watches;
    try {
      const { send } = this.#options;
      const response = await send('POST', '/streams', jsonOf(sent), this.#abort.signal);
      if (!response.ok || !response.body) {
        this.#end(endOf(response));
        return;
      }
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = '';
      for (;;) {
        const { value, done } = await reader.read();
        if (done || this.#isEnded) break;
        this.#hear();
        text += value;
        const end = text.lastIndexOf('\n') + 1;
        for (const line of text.slice(0, end).split('\n')) this.#take(line);
        text = text.slice(end);
      }
    } catch {
      // The connection has failed, which is reported below.
    }
    this.#end('lost');
  }

  #take(line: string): void {
    if (!line.startsWith(DATA) || this.#isEnded) return;
    const message = JSON.parse(line.slice(DATA.length)) as StreamHello | StreamMessage;
    if ('stream' in message) {
      this.#name = message.stream;
      this.#options.onOpen();
      if (this.#watches !== this.#options.watches) this.setWatches(this.#watches);
    } else if (message.n === this.#expected) {
      this.#expected++;
      try {
        this.#options.onMessage(message);
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        // The difference is from a value that this page does not have.
        this.#end('gap');
      }
    } else {
      this.#end('gap');
    }
  }

  #hear(): void {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.#end('lost'), SILENCE_MS);
    this.#options.onHeard();
  }

  #end(end: PageStreamEnd): void {
    if (this.#isEnded) return;
    this.close();
    this.#options.onEnd(end);
  }
}

function endOf({ status }: Response): PageStreamEnd {
  if (status === 401) return 'unauthorized';
  if (status === 429) return 'too-many';
  return status === 404 ? 'gap' : 'lost';
}

const jsonOf = (watches: readonly Watch[]): JsonValue =>
  watches.map(({ id, topic, parameters }) => ({ id, topic, parameters }));
