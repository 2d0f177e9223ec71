import { ipVersion } from '../addresses/addresses.ts';
import type { Clock, Timer } from '../time/clock.ts';
import { abortedDial, DialError, type DialErrorCode } from '../errors.ts';
import { messageOf } from '@weir/base';

/** Milliseconds until the next address is tried in parallel (RFC 8305 §5). */
export const ATTEMPT_DELAY_MS = 250;

interface ConnectAnyOptions<T> {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Releases a connection that was established too late. */
  discard(connection: T): void;
}

/**
 * Connects to one of several addresses (RFC 8305).
 *
 * Families alternate, beginning with that of the first address. The next attempt starts when the last one fails, or
 * after 250 ms. The first connection wins: the other attempts are aborted, and connections that they still establish
 * are discarded. With one address this is `connect` itself, without a timer.
 *
 * @throws {DialError} when all attempts fail: the most specific failure, with all of them as its `cause`. When `signal`
 * aborts, rejects with its reason.
 */
export function connectAny<T>(
  addresses: readonly string[],
  connect: (address: string, signal: AbortSignal) => Promise<T>,
  options: ConnectAnyOptions<T>,
): Promise<T> {
  const [only] = addresses;
  if (only === undefined) {
    return Promise.reject(new DialError('not_found', 'there is no address to connect to'));
  }
  if (addresses.length === 1) return connect(only, options.signal);
  if (options.signal.aborted) {
    return Promise.reject(abortedDial(options.signal));
  }
  return new Race(interleave(addresses), connect, options).promise;
}

/** Reorders addresses so that the families alternate, beginning with that of the first. */
export function interleave(addresses: readonly string[]): readonly string[] {
  const [head] = addresses;
  if (head === undefined) return addresses;
  const family = ipVersion(head);
  const first = addresses.filter((address) => ipVersion(address) === family);
  if (first.length === addresses.length) return addresses;
  const second = addresses.filter((address) => ipVersion(address) !== family);
  return alternate(first, second);
}

/** Alternates two lists, beginning with `first`; the rest of the longer one comes last. */
export function alternate(first: readonly string[], second: readonly string[]): readonly string[] {
  const ordered: string[] = [];
  for (let i = 0; i < first.length || i < second.length; i++) {
    const [one, other] = [first[i], second[i]];
    if (one !== undefined) ordered.push(one);
    if (other !== undefined) ordered.push(other);
  }
  return ordered;
}

/** The attempts at one destination. */
class Race<T> {
  readonly #addresses: readonly string[];
  readonly #connect: (address: string, signal: AbortSignal) => Promise<T>;
  readonly #options: ConnectAnyOptions<T>;
  /** Aborts every attempt but the winner. */
  readonly #attempts = new AbortController();
  readonly #errors: unknown[] = [];
  readonly #result = Promise.withResolvers<T>();
  #next = 0;
  #timer: Timer | undefined;
  #over = false;

  constructor(
    addresses: readonly string[],
    connect: (address: string, signal: AbortSignal) => Promise<T>,
    options: ConnectAnyOptions<T>,
  ) {
    this.#addresses = addresses;
    this.#connect = connect;
    this.#options = options;
    options.signal.addEventListener('abort', this.#onAbort);
    this.#start();
  }

  get promise(): Promise<T> {
    return this.#result.promise;
  }

  /** Starts the next attempt, and the timer of the one after it. */
  readonly #start = (): void => {
    this.#timer?.cancel();
    this.#timer = undefined;
    const address = this.#addresses[this.#next];
    if (address === undefined) return;
    this.#next++;
    this.#attempt(address).then(this.#onConnected, this.#onFailed);
    if (!this.#over && this.#next < this.#addresses.length) {
      this.#timer = this.#options.clock.after(ATTEMPT_DELAY_MS, this.#start);
    }
  };

  /** Turns a `connect` that throws synchronously into a rejection. */
  async #attempt(address: string): Promise<T> {
    return this.#connect(address, this.#attempts.signal);
  }

  readonly #onConnected = (connection: T): void => {
    if (this.#over) {
      this.#options.discard(connection);
      return;
    }
    this.#end();
    this.#result.resolve(connection);
    this.#attempts.abort();
  };

  readonly #onFailed = (error: unknown): void => {
    if (this.#over) return;
    this.#errors.push(error);
    if (this.#next < this.#addresses.length) {
      this.#start();
    } else if (this.#errors.length === this.#addresses.length) {
      this.#end();
      this.#result.reject(mostSpecific(this.#errors));
    }
  };

  readonly #onAbort = (): void => {
    const { signal } = this.#options;
    this.#end();
    this.#result.reject(abortedDial(signal));
    this.#attempts.abort(signal.reason);
  };

  #end(): void {
    this.#over = true;
    this.#timer?.cancel();
    this.#options.signal.removeEventListener('abort', this.#onAbort);
  }
}

/**
 * Returns the most specific failure. On a host without IPv6 every IPv6 attempt fails as `unreachable_network`: the
 * failure of the IPv4 attempt says more. `loop` and `forbidden`, for addresses of the proxy itself, come first.
 */
function mostSpecific(errors: readonly unknown[]): DialError {
  const codeOf = (error: unknown): DialErrorCode =>
    error instanceof DialError ? error.code : 'failed';
  const error =
    errors.find((each) => codeOf(each) === 'loop' || codeOf(each) === 'forbidden') ??
    errors.find((each) => codeOf(each) !== 'unreachable_network') ??
    errors[0];
  return new DialError(codeOf(error), messageOf(error), {
    cause: new AggregateError(errors, 'no address could be reached'),
  });
}
