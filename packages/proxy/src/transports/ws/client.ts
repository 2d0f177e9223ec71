import { abortedDial, DialError, LinkClosedError, ProtocolError } from '@weir/io';
import type { ByteLink } from '@weir/io/links';
import { type Clock, Deadline, unlessAborted } from '@weir/io/time';
import { type Endpoint, shownEndpoint } from '@weir/io/addresses';
import type { RandomSource } from '@weir/base/random';
import { messageOf } from '@weir/base';
import {
  parseStrictResponseHead,
  readHead,
  type ResponseHead,
  startsResponse,
} from '@weir/http/http1';
import { INTERIM_LIMIT } from '@weir/http/fields';
import type { OutboundCarrierSpec } from '../../spec.ts';
import { UPGRADE_MS } from '../limits.ts';
import { WsLink } from './link.ts';
import {
  HEAD_BYTES,
  HEAD_FIELDS,
  markedKey,
  markReply,
  problemWith,
  upgradeRequest,
} from './upgrade.ts';

/** Opens the underlying link, optionally with early data in the opening request. */
type Open = (early: Uint8Array | undefined, signal: AbortSignal) => Promise<ByteLink>;

/**
 * A link that is opened by its first write, so that the written bytes are sent in the request. If they exceed the
 * limit, all of them are sent after the opening.
 */
export class EarlyDataLink implements ByteLink {
  readonly closed: Promise<Error | undefined>;
  readonly #limit: number;
  readonly #open: Open;
  readonly #lower: ByteLink;
  readonly #abort = new AbortController();
  readonly #resolveClosed: (cause: Error | undefined | Promise<Error | undefined>) => void;
  readonly #opened = Promise.withResolvers<ByteLink>();
  /** The open link; `undefined` before. */
  #inner: ByteLink | undefined;
  /** Whether the link is open and all earlier writes have been passed on. */
  #caughtUp = false;
  #started = false;
  /** Writes from before the link was open, in order. */
  #tail: Promise<void> | undefined;
  #error: Error | undefined;
  #reading = false;

  /** @param lower the connection on which the link is opened; if it closes before that, the link fails. */
  constructor(limit: number, open: Open, lower: ByteLink) {
    this.#limit = limit;
    this.#open = open;
    this.#lower = lower;
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    this.closed = promise;
    this.#resolveClosed = resolve;
    // A rejection that no reader waits for must not be unhandled.
    this.#opened.promise.catch(() => undefined);
    void lower.closed.then(() => this.#onClose());
  }

  async read(signal?: AbortSignal): Promise<Uint8Array | undefined> {
    if (this.#inner) return this.#inner.read(signal);
    if (this.#reading) throw new LinkClosedError('a read is already pending');
    this.#reading = true;
    try {
      return await (await unlessAborted(this.#opened.promise, signal)).read(signal);
    } finally {
      this.#reading = false;
    }
  }

  unread(chunk: Uint8Array): void {
    if (!this.#inner) throw new RangeError('nothing was read that could be put back');
    this.#inner.unread(chunk);
  }

  write(chunk: Uint8Array, isOwned?: boolean): Promise<void> | undefined {
    return this.#inner && this.#caughtUp
      ? this.#inner.write(chunk, isOwned)
      : this.writeOutput([chunk]);
  }

  writeOutput(chunks: readonly Uint8Array[], isOwned?: boolean): Promise<void> | undefined {
    if (this.#inner && this.#caughtUp) return this.#inner.writeOutput(chunks, isOwned);
    if (this.#error) return Promise.reject(this.#error);
    if (this.#started) return this.#later((inner) => inner.writeOutput(chunks));
    const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    if (length === 0) return undefined;
    if (length > this.#limit) {
      this.#start(undefined);
      return this.#later((inner) => inner.writeOutput(chunks));
    }
    this.#start(Buffer.concat(chunks));
    return this.#later(() => undefined);
  }

  closeWrite(): Promise<void> {
    if (this.#inner && this.#caughtUp) return this.#inner.closeWrite();
    if (this.#error) return Promise.reject(this.#error);
    if (!this.#started) this.#start(undefined);
    return this.#later((inner) => inner.closeWrite());
  }

  destroy(cause?: Error): void {
    if (this.#inner) {
      this.#inner.destroy(cause);
      return;
    }
    this.#fail(cause ?? new LinkClosedError(), cause);
  }

  resetAfterData(cause: Error): void {
    if (this.#inner) this.#inner.resetAfterData(cause);
    else this.destroy(cause);
  }

  #start(early: Uint8Array | undefined): void {
    this.#started = true;
    this.#open(early, this.#abort.signal).then(
      (inner) => {
        if (this.#error) {
          inner.destroy(this.#error);
          return;
        }
        this.#inner = inner;
        this.#opened.resolve(inner);
        this.#resolveClosed(inner.closed);
      },
      (error: Error) => this.#fail(error, error),
    );
  }

  #later(work: (inner: ByteLink) => Promise<void> | undefined): Promise<void> {
    const before = this.#tail ?? this.#opened.promise;
    const mine = before.then(async () => {
      await work(await this.#opened.promise);
      if (this.#tail === mine) this.#caughtUp = true;
    });
    this.#tail = mine;
    return mine;
  }

  #fail(error: Error, cause: Error | undefined): void {
    if (this.#error) return;
    this.#error = error;
    this.#opened.reject(error);
    this.#abort.abort(error);
    this.#lower.destroy();
    this.#resolveClosed(cause);
  }

  #onClose(): void {
    // The opening detects a failure itself.
    if (this.#started) return;
    const error = new LinkClosedError('the connection ended before it was used');
    this.#fail(error, error);
  }
}

type WsSpec = Extract<OutboundCarrierSpec, { kind: 'ws' }>;

/** A WebSocket client for one server. */
export class WsClient {
  readonly #spec: WsSpec;
  readonly #server: Endpoint;
  readonly #clock: Clock;
  readonly #random: RandomSource;

  constructor(spec: WsSpec, server: Endpoint, clock: Clock, random: RandomSource) {
    this.#spec = spec;
    this.#server = server;
    this.#clock = clock;
    this.#random = random;
  }

  /**
   * Upgrades a connection, which is destroyed if the upgrade fails. With early data the upgrade waits for the first
   * write, which is rejected if the upgrade fails.
   *
   * @throws {DialError} `upstream` if the server rejects the upgrade.
   */
  async open(lower: ByteLink, signal: AbortSignal): Promise<ByteLink> {
    const { earlyData } = this.#spec;
    if (earlyData === 0) return this.#upgrade(lower, signal, undefined);
    return new EarlyDataLink(
      earlyData,
      (first, opening) => this.#upgrade(lower, opening, first),
      lower,
    );
  }

  async #upgrade(
    lower: ByteLink,
    parent: AbortSignal,
    early: Uint8Array | undefined,
  ): Promise<ByteLink> {
    using deadline = new Deadline(this.#clock, UPGRADE_MS, 'the WebSocket upgrade', parent);
    const { signal } = deadline;
    try {
      if (signal.aborted) throw abortedDial(signal, this.#server);
      const key = markedKey(this.#random);
      // A failed link reports its error to the reader; the server may also respond early.
      lower.write(upgradeRequest(this.#spec, key, early))?.catch(() => undefined);
      const { head, followed } = await response(lower, signal);
      const problem = problemWith(head, key);
      if (problem !== undefined) throw new ProtocolError(problem);
      const [random, clock, weirFrame] = [this.#random, this.#clock, markReply(key)];
      const link = new WsLink(lower, { random, clock, weirFrame });
      // The link may be half-closed before anything is read from it.
      const ahead = followed ? await lower.read(signal) : undefined;
      if (ahead) {
        link.recognize(ahead);
        lower.unread(ahead);
      }
      return link;
    } catch (error) {
      lower.destroy();
      if (signal.aborted) throw abortedDial(signal, this.#server);
      const text = `${shownEndpoint(this.#server)}: WebSocket: ${messageOf(error)}`;
      throw new DialError('upstream', text, { cause: error });
    }
  }
}

/** Reads the final response, skipping interim ones. */
async function response(
  lower: ByteLink,
  signal: AbortSignal,
): Promise<{ readonly head: ResponseHead; readonly followed: boolean }> {
  for (let skipped = 0; skipped <= INTERIM_LIMIT; skipped++) {
    const read = await readHead(lower, startsResponse, signal, HEAD_BYTES);
    if (!read) throw new ProtocolError('the server closed the connection without a response');
    const head = parseStrictResponseHead(read.bytes, HEAD_FIELDS);
    if (head.status >= 200 || head.status === 101) return { head, followed: read.followed };
  }
  throw new ProtocolError('the server responds with nothing but interim responses');
}
