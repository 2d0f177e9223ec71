import type {
  CloseReason,
  QuicConnection,
  QuicStream,
  StreamFailure,
} from '../../../../packages/quic/src/contract.ts';
import { WeirError } from '@weir/base';
import { type ByteLink, linkPair } from '@weir/io/links';

class Failure extends WeirError implements StreamFailure {
  readonly streamCode: number;

  constructor(code: number) {
    super('reset', 'the stream was reset');
    this.streamCode = code;
  }
}

/** How the own side of a stream ended: by its code, or with what was written until the half-close. */
export type Outcome = { readonly reset: number } | { readonly written: Buffer };

/** A stream in memory, with the peer's end of it. */
export class FakeStream implements QuicStream {
  readonly id: number;
  readonly bidirectional: boolean;
  readonly peer: ByteLink;
  readonly outcome: Promise<Outcome>;
  readonly #link: ByteLink;
  /** Nothing can be read any more. */
  readonly #stop = new AbortController();
  readonly #stopped = Promise.withResolvers<number>();
  readonly #outcome = Promise.withResolvers<Outcome>();
  readonly #written: Uint8Array[] = [];

  constructor(id: number) {
    this.id = id;
    this.bidirectional = (id & 2) === 0;
    [this.#link, this.peer] = linkPair();
    this.outcome = this.#outcome.promise;
  }

  /** The code that the peer was asked to stop sending with. */
  get stopped(): Promise<number> {
    return this.#stopped.promise;
  }

  get written(): Buffer {
    return Buffer.concat(this.#written);
  }

  get closed(): Promise<Error | undefined> {
    return this.#link.closed;
  }

  /** The peer sends: chunks, and the end of the stream when nothing else is said. */
  async send(chunks: readonly Uint8Array[], isEnd = true): Promise<void> {
    for (const chunk of chunks) await this.peer.write(chunk);
    if (isEnd) await this.peer.closeWrite();
  }

  /** The peer resets its side, or asks to stop. */
  fail(code: number): void {
    this.#link.destroy(new Failure(code));
  }

  read(signal?: AbortSignal): Promise<Uint8Array | undefined> {
    const stopped = this.#stop.signal;
    return this.#link.read(signal ? AbortSignal.any([signal, stopped]) : stopped);
  }

  unread(chunk: Uint8Array): void {
    this.#link.unread(chunk);
  }

  write(chunk: Uint8Array): Promise<void> | undefined {
    return this.writeOutput([chunk]);
  }

  writeOutput(chunks: readonly Uint8Array[]): Promise<void> | undefined {
    this.#written.push(...chunks);
    return this.#link.writeOutput(chunks);
  }

  async closeWrite(): Promise<void> {
    await this.#link.closeWrite();
    this.#outcome.resolve({ written: this.written });
  }

  destroy(cause?: Error): void {
    this.#link.destroy(cause);
  }

  resetAfterData(cause: Error): void {
    this.#link.resetAfterData(cause);
  }

  reset(code: number): void {
    this.#outcome.resolve({ reset: code });
    this.#link.destroy(new Failure(code));
  }

  stopSending(code: number): void {
    this.#stopped.resolve(code);
    this.#stop.abort(new Error('the stream is not read any more'));
  }
}

/** One side of a QUIC connection whose other side is the test. */
export class FakeConnection implements QuicConnection {
  readonly remote = { host: '192.0.2.1', port: 4433 };
  readonly local = undefined;
  readonly wire = { bytesRead: 0, bytesWritten: 0 };
  readonly established = Promise.resolve();
  readonly maxDatagramSize = 1200;
  readonly closed: Promise<CloseReason>;
  /** Streams that this side opened, in their order. */
  readonly opened: FakeStream[] = [];
  readonly #closed = Promise.withResolvers<CloseReason>();
  readonly #role: 'client' | 'server';
  readonly #next = { own: [0, 0], peer: [0, 0] };

  constructor(role: 'client' | 'server') {
    this.#role = role;
    this.closed = this.#closed.promise;
  }

  openStream(kind: 'bidirectional' | 'unidirectional'): Promise<QuicStream> {
    const stream = this.#create(kind, true);
    this.opened.push(stream);
    return Promise.resolve(stream);
  }

  /** A stream that the peer opens. */
  peerStream(kind: 'bidirectional' | 'unidirectional'): FakeStream {
    return this.#create(kind, false);
  }

  sendDatagram(): boolean {
    return false;
  }

  authenticated(): void {}

  allowStreams(): void {}

  readonly hasOpenStream = false;

  useController(): void {}

  close(code: number, reason = ''): void {
    this.#closed.resolve({ kind: 'application', by: 'self', code, reason });
  }

  #create(kind: 'bidirectional' | 'unidirectional', isOwn: boolean): FakeStream {
    const direction = kind === 'bidirectional' ? 0 : 1;
    const numbers = isOwn ? this.#next.own : this.#next.peer;
    const index = numbers[direction] ?? 0;
    numbers[direction] = index + 1;
    const initiator = isOwn === (this.#role === 'server') ? 1 : 0;
    return new FakeStream(index * 4 + direction * 2 + initiator);
  }
}
