import type { Http2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { Clock, Timer } from '../../net/clock.ts';
import { ProtocolError } from '../../net/errors.ts';
import { PROBE_INTERVAL_MS, PROBE_RESPONSE_MS } from '../limits.ts';

/**
 * Closes a connection whose peer has vanished. After PROBE_INTERVAL_MS without a byte, with tunnels
 * or without, the peer is probed; without a response within PROBE_RESPONSE_MS the connection is
 * closed. This also covers connections that Node stops reading after some errors of the peer: it
 * neither sees their end nor closes their streams.
 *
 * The probe is an empty SETTINGS frame, which must be acknowledged at once (RFC 9113 §6.5.3). A
 * PING does not serve: Node sends none after a GOAWAY, although tunnels may continue, and servers on
 * grpc-go close connections of clients that send one more often than every five minutes.
 *
 * `src/dns/liveness.ts` has a different task and shares no code: its pending queries are the probe,
 * and it also closes idle connections.
 */
export class PeerWatch {
  readonly #session: Http2Session;
  readonly #raw: Socket;
  readonly #clock: Clock;
  /** The bytes received by the last look, and its time. */
  #bytes: number;
  #lookedAt: number;
  #heardAt: number;
  /** The probe under way, shared by all callers. */
  #probing: PromiseWithResolvers<boolean> | undefined;
  #timer: Timer;

  /** @param raw the kernel socket below the session. */
  constructor(session: Http2Session, raw: Socket, clock: Clock) {
    this.#session = session;
    this.#raw = raw;
    this.#clock = clock;
    this.#bytes = raw.bytesRead;
    this.#lookedAt = this.#heardAt = clock.now();
    this.#timer = clock.after(PROBE_INTERVAL_MS, this.#check);
    session.once('close', () => {
      this.#timer.cancel();
      this.#probing?.resolve(false);
    });
  }

  /** An upper bound of the time since the last received byte, in milliseconds. */
  get silence(): number {
    this.look();
    return this.#clock.now() - this.#heardAt;
  }

  /**
   * Notes whether bytes have been received; called when data is read. Their time of arrival is
   * unknown, since a tunnel may have been paused: they count as received at the last look.
   */
  readonly look = (): void => {
    const { bytesRead } = this.#raw;
    if (bytesRead !== this.#bytes) {
      this.#bytes = bytesRead;
      this.#heardAt = this.#lookedAt;
    }
    this.#lookedAt = this.#clock.now();
  };

  /** Probes the peer; resolves with whether any byte was received within `milliseconds`. */
  async responds(milliseconds: number): Promise<boolean> {
    const before = this.#raw.bytesRead;
    const silent = Promise.withResolvers<boolean>();
    const timer = this.#clock.after(milliseconds, () =>
      silent.resolve(this.#raw.bytesRead !== before),
    );
    try {
      return await Promise.race([this.#probe().promise, silent.promise]);
    } finally {
      timer.cancel();
    }
  }

  readonly #check = (): void => {
    const left = PROBE_INTERVAL_MS - this.silence;
    if (left > 0) {
      this.#timer = this.#clock.after(left, this.#check);
      return;
    }
    void this.responds(PROBE_RESPONSE_MS).then((alive) => {
      if (this.#session.destroyed) return;
      if (alive) this.#timer = this.#clock.after(PROBE_INTERVAL_MS, this.#check);
      else this.#abort();
    });
  };

  #abort(): void {
    this.#session.destroy(new ProtocolError('HTTP/2: the peer does not respond'));
    // A session that Node no longer reads does not always destroy its socket.
    this.#raw.destroy();
  }

  #probe(): PromiseWithResolvers<boolean> {
    if (this.#probing) return this.#probing;
    const probing = Promise.withResolvers<boolean>();
    if (this.#session.destroyed) {
      probing.resolve(false);
      return probing;
    }
    this.#probing = probing;
    this.#session.settings({}, (error) => {
      this.#probing = undefined;
      if (error) return;
      this.look();
      this.#heardAt = this.#lookedAt;
      probing.resolve(true);
    });
    return probing;
  }
}
