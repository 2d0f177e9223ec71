import type { Clock, Timer } from '../../net/time/clock.ts';
import { LinkClosedError } from '../../net/errors.ts';
import type { ByteLink } from '../../net/links/link.ts';
import { PulledLink } from '../../net/links/pulled-link.ts';
import { TcpFailedError } from '../failures.ts';
import { LINGER, RESTING_LINGER } from '../limits.ts';
import type { TcpEvent } from '../tcp/events.ts';
import type { TcpFlow, TcpOwner } from './tcp-flow.ts';

/** What a link needs of its stack. */
export interface TcpHost {
  readonly clock: Clock;
  /** A method of the connection was called. */
  touch(flow: TcpFlow): void;
}

/**
 * A TCP connection as a ByteLink. Received data stays in the connection's buffer until it is read, so that a
 * reader that pauses closes the window; written data is queued there.
 *
 * A reset by the peer fails both directions, except for data that was received before its FIN.
 */
export class TcpLink extends PulledLink implements ByteLink, TcpOwner {
  /** Resolves when the connection is established; rejects when it has failed before. */
  readonly established: Promise<void>;
  readonly #host: TcpHost;
  readonly #flow: TcpFlow;
  readonly #established: PromiseWithResolvers<void>;
  #isOver = false;
  /** Whether everything up to the peer's FIN was received. */
  #isWhole = false;
  /** Whether the link was released: what is received then is discarded. */
  #isReleased = false;
  #linger: Timer | undefined;

  constructor(host: TcpHost, flow: TcpFlow) {
    super();
    this.#host = host;
    this.#flow = flow;
    this.#established = Promise.withResolvers<void>();
    this.established = this.#established.promise;
    // An owner that does not wait for it must not cause an unhandled rejection.
    this.established.catch(() => undefined);
    flow.owner = this;
  }

  closeWrite(): Promise<void> {
    if (this.writeEnded) return Promise.resolve();
    if (this.writeError) return Promise.reject(this.writeError);
    this.writeEnded = true;
    this.#flow.connection.closeWrite();
    this.#host.touch(this.#flow);
    this.#settle();
    return Promise.resolve();
  }

  destroy(cause?: Error): void {
    const truncates = cause !== undefined || !this.writeEnded;
    if (this.#isOver) {
      if (truncates && this.#linger) this.#abort();
      return;
    }
    this.#isReleased = true;
    // What was written before a half-close still arrives, as over a socket.
    if (truncates) this.#abort();
    else {
      this.#discard();
      this.#linger ??= this.#startLinger();
    }
    this.#fail(cause ?? new LinkClosedError(), cause);
  }

  onEvent(event: TcpEvent): void {
    switch (event) {
      case 'requested':
        break;
      case 'established':
        this.#established.resolve();
        break;
      case 'end':
        this.#isWhole = true;
        this.onReadable();
        break;
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
        this.#stopLinger();
        break;
      default:
        event satisfies never;
    }
  }

  override onReadable(): void {
    if (this.#isReleased) this.#discard();
    super.onReadable();
  }

  /** The stack was closed: the link fails without calls of the connection. */
  fail(error: Error): void {
    this.#stopLinger();
    this.#isReleased = true;
    this.#fail(error, error);
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
    this.#settle();
    return undefined;
  }

  protected override push(chunk: Uint8Array, isOwned: boolean): boolean {
    const mayContinue = this.#flow.connection.write(chunk, isOwned);
    this.#host.touch(this.#flow);
    return mayContinue;
  }

  #onFailed(): void {
    this.#stopLinger();
    const error = new TcpFailedError(this.#flow.connection.failure ?? 'aborted');
    this.#established.reject(error);
    this.#fail(error, error);
  }

  /** A released link goes on discarding data: its peer may still read what was written before. */
  #discard(): void {
    const { connection } = this.#flow;
    const now = this.#host.clock.now();
    while (connection.read(now) !== undefined);
    this.#host.touch(this.#flow);
  }

  #abort(): void {
    this.#stopLinger();
    this.#flow.connection.abort(this.#host.clock.now());
    this.#host.touch(this.#flow);
  }

  /** Ends both directions. */
  #fail(error: Error, cause: Error | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#established.reject(error);
    // After the peer's FIN the received data is complete, and can still be read.
    if (this.#isReleased || !this.#isWhole) this.failReads(error);
    this.failWrites(error);
    this.resolveClosed(cause);
  }

  /** Resolves `closed` when both directions have ended without a failure of the whole. */
  #settle(): void {
    const readOver = this.readEnded || this.readError !== undefined;
    if (this.#isOver || !readOver || !this.writeEnded) return;
    this.#isOver = true;
    this.#linger ??= this.#startLinger();
    this.resolveClosed(undefined);
  }

  /**
   * Aborts a connection that makes no progress after its owner has released it.
   * @param progressAt when the peer has last acknowledged data, in milliseconds.
   */
  #startLinger(progressAt = this.#host.clock.now()): Timer | undefined {
    const { clock } = this.#host;
    const { connection } = this.#flow;
    if (connection.state === 'CLOSED' || connection.state === 'TIME-WAIT') return undefined;
    const { unacknowledged } = connection;
    return clock.after(LINGER, () => {
      this.#linger = undefined;
      const isResting = connection.isPeerResting && clock.now() < progressAt + RESTING_LINGER;
      if (connection.unacknowledged < unacknowledged) this.#linger = this.#startLinger();
      else if (isResting) this.#linger = this.#startLinger(progressAt);
      else this.#abort();
    });
  }

  #stopLinger(): void {
    this.#linger?.cancel();
    this.#linger = undefined;
  }
}
