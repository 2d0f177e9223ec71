import { Holds } from '@weir/base/collections';
import type { Monitor } from '@weir/client/monitor';
import { LocalHttpError } from '@weir/server/local-http';

/** Milliseconds to wait for the first sample of the traffic; samples are taken every second. */
const SAMPLE_MS = 2_500;
/** Milliseconds for which the monitor is kept current after the last request: clients send one every second or so. */
const LINGER_MS = 15_000;

/** Keeps a monitor current while there are requests, and for some time afterwards. */
export class LeasedMonitor implements Disposable {
  readonly monitor: Monitor;
  #hold: Disposable | undefined;
  readonly #uses = new Holds(
    () => this.#start(),
    () => this.#linger(),
  );
  #timer: NodeJS.Timeout | undefined;

  constructor(monitor: Monitor) {
    this.monitor = monitor;
  }

  use(): Disposable {
    return this.#uses.hold();
  }

  /**
   * Waits for the first sample of traffic.
   * @throws {LocalHttpError} 502 when the API is lost
   */
  async sampled(): Promise<void> {
    const { monitor } = this;
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = (): void => {
      if (monitor.traffic !== undefined || isLost(monitor)) resolve();
    };
    using _listener = monitor.onChange(look);
    const timer = setTimeout(resolve, SAMPLE_MS);
    look();
    await promise;
    clearTimeout(timer);
    refuseLost(monitor);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#hold?.[Symbol.dispose]();
    this.#hold = undefined;
  }

  #start(): void {
    clearTimeout(this.#timer);
    this.#hold ??= this.monitor.hold();
  }

  #linger(): void {
    this.#timer = setTimeout(() => {
      this.#hold?.[Symbol.dispose]();
      this.#hold = undefined;
    }, LINGER_MS);
    this.#timer.unref();
  }
}

export const isLost = ({ api }: Monitor): boolean => api.kind === 'lost' || api.kind === 'absent';

/** Checks that the API can be reached. @throws {LocalHttpError} 502 when it is lost */
function refuseLost({ api }: Monitor): void {
  if (api.kind === 'lost') throw new LocalHttpError(502, 'clash', api.error.message);
}
