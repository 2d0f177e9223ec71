import { setImmediate as turn } from 'node:timers/promises';
import { asError } from '@weir/base';
import type { Clock, Timer, TurnShare } from '@weir/io/time';
import { ProtocolError } from '@weir/io';
import { endInTurns, type ByteLink, freeChunk } from '@weir/io/links';
import { Http2Connection, type ConnectionOptions } from './connection.ts';
import { Http2Error } from './errors.ts';
import type { HttpField } from '../fields/field.ts';
import { recycleBatch } from './frames.ts';
import type { Http2Stream } from './stream.ts';

/** Milliseconds allowed for sending or reading the last frames of a connection. */
const LINGER_MS = 5_000;

/** The user of a driven connection. */
export interface DriverHandler {
  onRequest?(stream: Http2Stream, fields: readonly HttpField[]): void;
  onPeerSettings?(): void;
  /** Called when the connection carries no more requests: after a GOAWAY, and after a write that failed. */
  onGoAway?(): void;
  /** Called when the connection has ended and all its streams have failed. */
  onEnd(cause: Error | undefined): void;
}

/** The options of a connection that a driver runs. */
export interface DrivenOptions extends ConnectionOptions {
  /**
   * Turns of the event loop shared by connections whose peers have not been served, with one piece per read: the work
   * that each of them may cause per turn is limited, but many could cause it at once.
   */
  readonly unproven?: TurnShare | undefined;
}

/** Runs a connection on a link, which the driver owns: reads data, and writes the output of a turn together. */
export class Http2Driver {
  readonly connection: Http2Connection;
  /** Number of received bytes, and the time of the last ones in milliseconds. */
  bytesReceived = 0;
  heardAt: number;
  readonly #link: ByteLink;
  readonly #clock: Clock;
  readonly #handler: DriverHandler;
  readonly #isServer: boolean;
  readonly #unproven: TurnShare | undefined;
  #isScheduled = false;
  #isWriting = false;
  #isBlocked = false;
  /** Whether the underlying link is closed for writing. */
  #isShut = false;
  #linger: Timer | undefined;
  /** Limits the time in which requests of before the GOAWAY are accepted; `undefined` unless `close` was called. */
  #refusal: Timer | undefined;
  /** Whether the connection ends with its last stream. */
  #isEnding = false;

  constructor(link: ByteLink, clock: Clock, options: DrivenOptions, handler: DriverHandler) {
    this.#link = link;
    this.#clock = clock;
    this.#handler = handler;
    this.#isServer = options.role === 'server';
    this.#unproven = options.unproven;
    this.heardAt = clock.now();
    this.connection = new Http2Connection(options, {
      onOutput: () => this.#schedule(),
      onFullBatch: () => this.#flush(),
      onRequest: (stream, fields) => handler.onRequest?.(stream, fields),
      onPeerSettings: () => handler.onPeerSettings?.(),
      onGoAway: () => handler.onGoAway?.(),
      onRefused: (streams, refuse) => void endInTurns(streams, refuse),
      onStreamEnd: () => {
        if (this.#isEnding) this.#schedule();
      },
      onEnd: (cause, streams, abort) => {
        this.#refusal?.cancel();
        // After the current call, which may have queued a GOAWAY.
        process.nextTick(() => this.#shut());
        void endInTurns(streams, abort).then(() => this.#onEnd(cause));
      },
    });
  }

  /** Whether the connection has ended. */
  get isClosed(): boolean {
    return this.connection.state === 'closed';
  }

  /** Sends the preface and starts reading. */
  start(): void {
    this.connection.start();
    void this.#read();
  }

  /**
   * Has the peer make no more requests, and ends the connection with the last open stream. Requests that are on their
   * way are accepted, for at most LINGER_MS.
   */
  close(): void {
    if (this.#refusal || this.isClosed) return;
    const refuse = (): void => {
      this.#refusal?.cancel();
      this.#isEnding = true;
      this.connection.goAway();
      this.#schedule();
    };
    this.#refusal = this.#clock.after(LINGER_MS, refuse);
    if (this.#isServer) this.connection.announceGoAway(refuse);
    else refuse();
  }

  /** Ends the connection and all its streams. */
  destroy(cause?: Error): void {
    this.connection.fail(cause);
  }

  /** Ends the connection without a GOAWAY, for a peer that does not read any more. */
  abandon(cause: Error): void {
    this.connection.lost(cause);
    this.#link.destroy(cause);
  }

  async #read(): Promise<void> {
    const { connection } = this;
    try {
      for (;;) {
        const chunk = await this.#link.read();
        if (!chunk) {
          connection.lost(this.#lossOf(undefined));
          return;
        }
        this.bytesReceived += chunk.length;
        this.heardAt = this.#clock.now();
        const share = this.#takeTurn();
        if (share) await share;
        let taken = connection.receive(chunk, this.heardAt);
        // The chunk may have frames of many streams: other work runs between its parts.
        while (taken < chunk.length) {
          await turn();
          const next = this.#takeTurn();
          if (next) await next;
          taken += connection.receive(chunk.subarray(taken), this.#clock.now());
        }
        // Readers have copied the data that they read, and the connection the rest.
        freeChunk(chunk);
        if (connection.state === 'closed') return;
      }
    } catch (error) {
      connection.lost(this.#lossOf(asError(error)));
    }
  }

  /** Returns a promise for a later turn if the current one allows no further read from an unproven peer. */
  #takeTurn(): Promise<void> | undefined {
    return this.connection.isProven ? undefined : this.#unproven?.take();
  }

  /**
   * Returns the reason why the connection is lost: the peer's GOAWAY, the error, or `undefined` for the end of the
   * link.
   */
  #lossOf(error: Error | undefined): Error | undefined {
    const { goAwayReason } = this.connection;
    if (goAwayReason === undefined) return error;
    return new ProtocolError(`HTTP/2: the peer closed the connection with ${goAwayReason}`, {
      cause: error,
    });
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // After the promises of this callback, which may cause more output.
    process.nextTick(this.#onTurn);
  }

  readonly #onTurn = (): void => {
    this.#isScheduled = false;
    this.#flush();
    if (!this.#isEnding || this.isClosed || this.connection.streamCount > 0) return;
    this.connection.fail(undefined);
  };

  #flush(): void {
    const { connection } = this;
    if (this.#isBlocked || this.#isWriting || connection.outputLength === 0) return;
    this.#isWriting = true;
    const batch = connection.takeOutput();
    if (this.#isShut) {
      this.#isWriting = false;
      recycleBatch(batch);
      return;
    }
    const link = this.#link;
    let full: Promise<void> | undefined;
    if (link.lend) {
      full = link.lend(batch);
      recycleBatch(batch);
    } else {
      full = link.write(batch);
    }
    this.#isWriting = false;
    if (!full) return;
    this.#isBlocked = true;
    connection.isBlocked = true;
    full.then(this.#onDrained, this.#onWriteError);
  }

  readonly #onDrained = (): void => {
    this.#isBlocked = false;
    this.connection.isBlocked = false;
    this.#flush();
  };

  readonly #onWriteError = (error: unknown): void => {
    // Data received earlier is still read; the read then reports the error, and nothing more is sent.
    if (this.isClosed) return;
    this.#handler.onGoAway?.();
    const lose = (): void => this.connection.lost(this.#lossOf(asError(error)));
    this.#linger = this.#clock.after(LINGER_MS, lose);
  };

  #onEnd(cause: Error | Http2Error | undefined): void {
    this.#handler.onEnd(
      cause instanceof Http2Error
        ? new ProtocolError(`HTTP/2: ${cause.reason} (${cause.name})`)
        : cause,
    );
  }

  /** Sends the remaining output, then ends the link: within `LINGER_MS` if the peer does not read. */
  #shut(): void {
    this.#flush();
    this.#isShut = true;
    const link = this.#link;
    this.#linger?.cancel();
    this.#linger = this.#clock.after(LINGER_MS, () => link.destroy());
    link
      .closeWrite()
      .catch(() => undefined)
      .finally(() => {
        this.#linger?.cancel();
        link.destroy();
      });
  }
}
