import { shownEndpoint, type Endpoint } from '@weir/io/addresses';
import { WeirError } from '@weir/base';
import { DialError, type DialErrorCode } from '@weir/io';
import type { TcpFailure, TcpEvent } from '../tcp/state.ts';
import type { Clock } from '@weir/io/time';
import type { ByteLink } from '@weir/io/links';
import { PulledLink } from '@weir/io/layers';
import { LINGER, RESTING_LINGER } from '../limits.ts';
import type { TcpFlow, TcpOwner } from './tcp-flow.ts';

const TEXTS: Readonly<Record<TcpFailure, string>> = {
  refused: 'connection refused',
  reset: 'the connection was reset',
  timeout: 'the connection timed out',
  unreachable: 'no route to the host',
  aborted: 'the connection was aborted',
};

const CODES: Readonly<Record<TcpFailure, DialErrorCode>> = {
  refused: 'refused',
  reset: 'refused',
  timeout: 'timed_out',
  unreachable: 'unreachable_host',
  aborted: 'aborted',
};

/** The failure of a TCP connection of the stack. */
export class TcpFailedError extends WeirError {
  readonly failure: TcpFailure;

  constructor(failure: TcpFailure) {
    super('tcp_failed', TEXTS[failure]);
    this.failure = failure;
  }
}

/** The error of a dial whose connection failed before it was established. */
export const dialFailed = (failure: TcpFailure, target: Endpoint, cause?: unknown): DialError =>
  new DialError(CODES[failure], `${shownEndpoint(target)}: ${TEXTS[failure]}`, { cause });

/** The stack of a link, as seen by the link. */
export interface TcpHost {
  readonly clock: Clock;
  /** Schedules the connection, after each call of it: delivers its events and sends. */
  touch(flow: TcpFlow): void;
}

/**
 * A TCP connection as a ByteLink. Received data stays in the connection's buffer until it is read, so that a
 * reader that pauses closes the window; written data is queued there.
 *
 * A reset by the peer fails both directions, except for data that was received before.
 */
export class TcpLink extends PulledLink implements ByteLink, TcpOwner {
  /** Resolves when the connection is established; rejects when it fails before. */
  readonly established: Promise<void>;
  readonly #host: TcpHost;
  readonly #flow: TcpFlow;
  readonly #established: PromiseWithResolvers<void>;
  /** Whether the link was released: data received afterwards is discarded. */
  #isReleased = false;
  #hasLeft = false;
  /** The promise of `whenLeft`; most links need none. */
  #left: PromiseWithResolvers<void> | undefined;

  constructor(host: TcpHost, flow: TcpFlow) {
    super(host.clock, LINGER);
    this.#host = host;
    this.#flow = flow;
    this.#established = Promise.withResolvers<void>();
    this.established = this.#established.promise;
    // A caller that does not await it must not cause an unhandled rejection.
    this.established.catch(() => undefined);
    flow.owner = this;
  }

  onEvent(event: TcpEvent): void {
    switch (event) {
      case 'requested':
        break;
      case 'established':
        this.#established.resolve();
        break;
      case 'end':
      case 'readable':
        this.onReadable();
        break;
      case 'writable':
        this.onWritable();
        break;
      case 'finished':
        break;
      case 'failed':
        this.#onFailed();
        break;
      case 'closed':
        this.#leave();
        break;
      default:
        event satisfies never;
    }
  }

  override onReadable(): void {
    if (this.#isReleased) this.#discard();
    super.onReadable();
  }

  /**
   * Resolves, never rejects, when no data of the connection remains to be sent: the peer has acknowledged everything,
   * or it was aborted. `closed` may resolve before, since the link lingers.
   */
  whenLeft(): Promise<void> {
    if (this.#hasLeft) return Promise.resolve();
    this.#left ??= Promise.withResolvers<void>();
    return this.#left.promise;
  }

  leave(): Promise<void> {
    if (!this.isOver) this.destroy();
    return this.whenLeft();
  }

  /** Fails the link, since the stack was closed; the connection is not called. */
  fail(error: Error): void {
    this.#leave();
    this.#isReleased = true;
    this.failAll(error, error);
  }

  protected override pull(): Uint8Array | undefined {
    const { connection } = this.#flow;
    const chunk = connection.read(this.#host.clock.now());
    if (chunk !== undefined) {
      // Reading opens the window.
      this.#host.touch(this.#flow);
      return chunk;
    }
    if (!connection.isEnded) return undefined;
    this.readEnded = true;
    this.settle();
    return undefined;
  }

  protected override push(chunk: Uint8Array, isOwned: boolean): boolean {
    const mayContinue = this.#flow.connection.write(chunk, isOwned);
    this.#host.touch(this.#flow);
    return mayContinue;
  }

  #onFailed(): void {
    this.#leave();
    const error = new TcpFailedError(this.#flow.connection.failure ?? 'aborted');
    this.#established.reject(error);
    this.failByPeer(error);
  }

  protected override finish(): void {
    this.#flow.connection.closeWrite();
    this.#host.touch(this.#flow);
  }

  protected override stopReading(truncates: boolean): void {
    this.#isReleased = true;
    // Otherwise the connection drops unread data when it is aborted.
    if (!truncates || this.#hasLeft) this.#discard();
  }

  protected override abandon(): void {
    this.#leave();
    this.#flow.connection.abort(this.#host.clock.now());
    this.#host.touch(this.#flow);
  }

  /**
   * Whether data or FINs are outstanding; includes the peer's FIN, without which the connection stays in FIN-WAIT-2.
   */
  protected override get isUnfinished(): boolean {
    const { state } = this.#flow.connection;
    return state !== 'CLOSED' && state !== 'TIME-WAIT';
  }

  protected override get untaken(): number {
    return this.#flow.connection.unacknowledged;
  }

  protected override mayPause(elapsed: number): boolean {
    return this.#flow.connection.isPeerResting && elapsed < RESTING_LINGER;
  }

  protected override failAll(error: Error, cause: Error | undefined): void {
    this.#established.reject(error);
    super.failAll(error, cause);
  }

  #leave(): void {
    this.stopLinger();
    this.#hasLeft = true;
    this.#left?.resolve();
  }

  /** Discards data of a released link: its peer may still read data written before. */
  #discard(): void {
    const { connection } = this.#flow;
    const now = this.#host.clock.now();
    while (connection.read(now) !== undefined);
    this.#host.touch(this.#flow);
  }
}
