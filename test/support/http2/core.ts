import {
  Http2Connection,
  type ConnectionOptions,
  Http2Error,
  type Http2Stream,
  type StreamEnd,
  type StreamHandler,
} from '@weir/http/http2';
import type { HttpField } from '@weir/http/fields';
import { parseFrames, type ParsedFrame } from './raw-frames.ts';

/** What one stream has reported; reads all that comes unless it rests. */
export class StreamLog implements StreamHandler {
  readonly stream: Http2Stream;
  status: number | undefined;
  head: readonly HttpField[] = [];
  trailers: readonly HttpField[] | undefined;
  data = Buffer.alloc(0);
  endSent = false;
  /** Calls of `onReadable` and `onWritable`. */
  readable = 0;
  writable = 0;
  end: StreamEnd | undefined;
  rests: boolean;

  constructor(stream: Http2Stream, rests = false) {
    this.stream = stream;
    this.rests = rests;
    stream.handler = this;
  }

  onResponse(status: number, fields: readonly HttpField[]): void {
    this.status = status;
    this.head = fields;
  }

  onTrailers(fields: readonly HttpField[]): void {
    this.trailers = fields;
  }

  onReadable(): void {
    this.readable++;
    if (!this.rests) this.read(Number.MAX_SAFE_INTEGER);
  }

  onWritable(): void {
    this.writable++;
  }

  onEndSent(): void {
    this.endSent = true;
  }

  onAbort(end: StreamEnd): void {
    this.end = end;
  }

  read(limit: number): void {
    this.data = Buffer.concat([this.data, ...this.stream.take(limit)]);
  }

  write(text: string | Uint8Array): boolean | undefined {
    this.stream.push(Buffer.from(text), false);
    return this.stream.flush();
  }
}

/** A core without a link: bytes go in and out by hand, and what it reports is kept. */
export class Core {
  readonly connection: Http2Connection;
  readonly requests: StreamLog[] = [];
  readonly goAways: number[] = [];
  settings = 0;
  /** Calls of `onOutput`, and streams that have ended. */
  outputs = 0;
  streamEnds = 0;
  isEnded = false;
  cause: Error | Http2Error | undefined;
  now = 0;
  /** Turns that what was received has taken. */
  turns = 0;
  rests = false;

  constructor(options: Partial<ConnectionOptions> = {}) {
    const all = { role: 'server', settings: {}, connectionWindow: 1 << 20, ...options } as const;
    this.connection = new Http2Connection(all, {
      onOutput: () => this.outputs++,
      onFullBatch: () => undefined,
      onRequest: (stream, fields) => {
        const log = new StreamLog(stream, this.rests);
        log.head = fields;
        this.requests.push(log);
      },
      onPeerSettings: () => this.settings++,
      onGoAway: () => this.goAways.push(this.now),
      onRefused: (streams, refuse) => streams.forEach(refuse),
      onStreamEnd: () => this.streamEnds++,
      onEnd: (cause, streams, abort) => {
        streams.forEach(abort);
        this.isEnded = true;
        this.cause = cause;
      },
    });
    this.connection.start();
  }

  /** The name of the error of HTTP/2 that has ended the connection. */
  get errorName(): string | undefined {
    return this.cause instanceof Http2Error ? this.cause.name : undefined;
  }

  /** The codes with which requests were reset; `undefined` for those that were not. */
  get resetCodes(): (number | undefined)[] {
    return this.requests.map(({ end }) => end?.code);
  }

  receive(...parts: readonly Uint8Array[]): void {
    let rest: Uint8Array = Buffer.concat(parts);
    do {
      rest = rest.subarray(this.connection.receive(rest, this.now));
      this.turns++;
    } while (rest.length > 0);
  }

  send(): Buffer {
    return Buffer.from(this.connection.takeOutput());
  }

  frames(): ParsedFrame[] {
    return parseFrames(this.send());
  }

  request(fields: readonly HttpField[] = REQUEST, isLast = false, rests = false): StreamLog {
    const stream = this.connection.request(fields, isLast);
    if (!stream) throw new Error('no request can be made');
    return new StreamLog(stream, rests);
  }
}

export const REQUEST: readonly HttpField[] = [
  { name: ':method', value: 'POST' },
  { name: ':scheme', value: 'http' },
  { name: ':path', value: '/' },
  { name: ':authority', value: 'server.test' },
];

/** A client's core and a server's, whose settings each other knows. */
export function corePair(
  client: Partial<ConnectionOptions> = {},
  server: Partial<ConnectionOptions> = {},
): { readonly client: Core; readonly server: Core } {
  const pair = { client: new Core({ ...client, role: 'client' }), server: new Core(server) };
  exchange(pair.client, pair.server);
  return pair;
}

/** Delivers everything both ways, until neither has anything to say. */
export function exchange(left: Core, right: Core): void {
  for (;;) {
    const [out, back] = [left.send(), right.send()];
    if (out.length + back.length === 0) return;
    right.receive(out);
    left.receive(back);
  }
}
