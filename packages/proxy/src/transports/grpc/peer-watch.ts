import type { Clock, Timer } from '@weir/io/time';
import { ProtocolError } from '@weir/io';
import type { Http2Driver } from '@weir/http/http2';
import { PROBE_INTERVAL_MS, PROBE_RESPONSE_MS } from '../limits.ts';

/**
 * Closes a connection whose peer has vanished. After PROBE_INTERVAL_MS without a received byte, with or without
 * tunnels, the peer is probed; without a response within PROBE_RESPONSE_MS the connection is closed.
 *
 * The probe is an empty SETTINGS frame, which must be acknowledged at once (RFC 9113 §6.5.3). A PING is not used:
 * servers on grpc-go close connections of clients that send one more often than every five minutes.
 *
 * `SilenceWatch` of the DNS client serves another purpose and shares no code: its pending queries are the probe,
 * and it also closes idle connections.
 */
export class PeerWatch {
  readonly #driver: Http2Driver;
  readonly #clock: Clock;
  /** The probe in progress. */
  #probing: PromiseWithResolvers<boolean> | undefined;
  #timer: Timer;

  constructor(driver: Http2Driver, clock: Clock) {
    this.#driver = driver;
    this.#clock = clock;
    this.#timer = clock.after(PROBE_INTERVAL_MS, this.#check);
  }

  /** Milliseconds since the last received byte. */
  get silence(): number {
    return this.#clock.now() - this.#driver.heardAt;
  }

  /** Probes the peer; resolves to whether any byte was received within `milliseconds`. */
  async responds(milliseconds: number): Promise<boolean> {
    const driver = this.#driver;
    const before = driver.bytesReceived;
    const silent = Promise.withResolvers<boolean>();
    const timer = this.#clock.after(milliseconds, () =>
      silent.resolve(driver.bytesReceived !== before),
    );
    try {
      return await Promise.race([this.#probe().promise, silent.promise]);
    } finally {
      timer.cancel();
    }
  }

  /** Stops watching, when the connection has ended. */
  stop(): void {
    this.#timer.cancel();
    this.#probing?.resolve(false);
  }

  readonly #check = (): void => {
    const left = PROBE_INTERVAL_MS - this.silence;
    if (left > 0) {
      this.#timer = this.#clock.after(left, this.#check);
      return;
    }
    const before = this.#driver.bytesReceived;
    this.#probe();
    this.#timer = this.#clock.after(PROBE_RESPONSE_MS, () => {
      if (this.#driver.bytesReceived !== before) this.#check();
      else this.#driver.abandon(new ProtocolError('HTTP/2: the peer does not respond'));
    });
  };

  #probe(): PromiseWithResolvers<boolean> {
    if (this.#probing) return this.#probing;
    const probing = Promise.withResolvers<boolean>();
    const sent = this.#driver.connection.changeSettings({}, () => {
      this.#probing = undefined;
      probing.resolve(true);
    });
    if (sent) this.#probing = probing;
    else probing.resolve(false);
    return probing;
  }
}
