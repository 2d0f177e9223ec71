import type { Http2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { Clock, Timer } from '../../net/clock.ts';
import { ProtocolError } from '../../net/errors.ts';
import { ANSWER_MS, WATCH_MS } from '../limits.ts';

/**
 * Sees to it that a connection whose peer is gone does not stay for ever. Whenever nothing came for
 * WATCH_MS, with tunnels or without, the peer is asked whether it lives; when it says nothing
 * within ANSWER_MS, the connection is cut.
 *
 * That is not for peers that vanish alone: after some errors of its peer Node reads a connection no
 * more, so that it hears of no end either, and keeps its streams without a word.
 *
 * The question is an empty SETTINGS frame, which must be acknowledged at once (RFC 9113 §6.5.3). A
 * PING would not do: Node sends none after a GOAWAY, when tunnels may well go on, and servers on
 * grpc-go cut clients that send one more often than every five minutes.
 */
export class Watch {
  readonly #session: Http2Session;
  readonly #raw: Socket;
  readonly #clock: Clock;
  /** The bytes that had come when anybody last looked, and when that was. */
  #bytes: number;
  #lookedAt: number;
  #heardAt: number;
  /** The question that is under way, for everybody who wants to know. */
  #asking: PromiseWithResolvers<boolean> | undefined;
  #timer: Timer;

  /** @param raw the kernel socket below the session. */
  constructor(session: Http2Session, raw: Socket, clock: Clock) {
    this.#session = session;
    this.#raw = raw;
    this.#clock = clock;
    this.#bytes = raw.bytesRead;
    this.#lookedAt = this.#heardAt = clock.now();
    this.#timer = clock.after(WATCH_MS, this.#check);
    session.once('close', () => {
      this.#timer.cancel();
      this.#asking?.resolve(false);
    });
  }

  /** How long nothing may have come, in milliseconds. */
  get silence(): number {
    this.look();
    return this.#clock.now() - this.#heardAt;
  }

  /**
   * Looks whether bytes have come; to be called when data was read. It is not known when they came,
   * as a tunnel may have been paused meanwhile: they count as old as the last look.
   */
  readonly look = (): void => {
    const { bytesRead } = this.#raw;
    if (bytesRead !== this.#bytes) {
      this.#bytes = bytesRead;
      this.#heardAt = this.#lookedAt;
    }
    this.#lookedAt = this.#clock.now();
  };

  /** Asks the peer, and tells whether anything came from it within the limit. */
  async answers(milliseconds: number): Promise<boolean> {
    const before = this.#raw.bytesRead;
    const silent = Promise.withResolvers<boolean>();
    const timer = this.#clock.after(milliseconds, () =>
      silent.resolve(this.#raw.bytesRead !== before),
    );
    try {
      return await Promise.race([this.#ask().promise, silent.promise]);
    } finally {
      timer.cancel();
    }
  }

  readonly #check = (): void => {
    const left = WATCH_MS - this.silence;
    if (left > 0) {
      this.#timer = this.#clock.after(left, this.#check);
      return;
    }
    void this.answers(ANSWER_MS).then((alive) => {
      if (this.#session.destroyed) return;
      if (alive) this.#timer = this.#clock.after(WATCH_MS, this.#check);
      else this.#cut();
    });
  };

  #cut(): void {
    this.#session.destroy(new ProtocolError('HTTP/2: the peer answers no more'));
    // A session that Node reads no more does not always take its socket along.
    this.#raw.destroy();
  }

  #ask(): PromiseWithResolvers<boolean> {
    if (this.#asking) return this.#asking;
    const asking = Promise.withResolvers<boolean>();
    if (this.#session.destroyed) {
      asking.resolve(false);
      return asking;
    }
    this.#asking = asking;
    this.#session.settings({}, (error) => {
      this.#asking = undefined;
      if (error) return;
      this.look();
      this.#heardAt = this.#lookedAt;
      asking.resolve(true);
    });
    return asking;
  }
}
