import type { Clock } from '../../net/time/clock.ts';
import type { ByteLink } from '../../net/links/link.ts';
import { PulledLink } from '../../net/links/pulled-link.ts';
import { TcpFailedError } from '../failures.ts';
import { LINGER, RESTING_LINGER } from '../limits.ts';
import type { TcpEvent } from '../tcp/events.ts';
import type { TcpFlow, TcpOwner } from './tcp-flow.ts';

/** The part of the stack that a link uses. */
export interface TcpHost {
  readonly clock: Clock;
  /** The connection was called: what it has to send is due. */
  touch(flow: TcpFlow): void;
}

/**
 * A TCP connection as a ByteLink. Received bytes stay with the connection until they are read, so that a
 * reader that pauses closes the window; written bytes are queued there.
 *
 * A reset by the peer fails both directions, except for what the peer sent before its FIN.
 */
export class TcpLink extends PulledLink implements ByteLink, TcpOwner {
  /** Resolves when the connection is established; rejects when it fails before. */
  readonly established: Promise<void>;
  readonly #host: TcpHost;
  readonly #flow: TcpFlow;
  readonly #established: PromiseWithResolvers<void>;
  /** Whether the peer's FIN was received: the rest to be read is complete. */
  #isWhole = false;
  /** Whether the link was destroyed: bytes that still arrive are discarded. */
  #isReleased = false;

  constructor(host: TcpHost, flow: TcpFlow) {
    super(host.clock, LINGER);
    this.#host = host;
    this.#flow = flow;
    this.#established = Promise.withResolvers<void>();
    this.established = this.#established.promise;
    // A rejection that no owner waits for must not be unhandled.
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
        this.stopLinger();
        break;
      default:
        event satisfies never;
    }
  }

  override onReadable(): void {
    if (this.#isReleased) this.#discard();
    super.onReadable();
  }

  /** The link has failed; the connection is not called. */
  fail(error: Error): void {
    this.stopLinger();
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
    this.stopLinger();
    const error = new TcpFailedError(this.#flow.connection.failure ?? 'aborted');
    this.failAll(error, error);
  }

  protected override finish(): void {
    this.#flow.connection.closeWrite();
    this.#host.touch(this.#flow);
  }

  protected override stopReading(truncates: boolean): void {
    this.#isReleased = true;
    if (!truncates) this.#discard();
  }

  protected override abandon(): void {
    this.stopLinger();
    this.#flow.connection.abort(this.#host.clock.now());
    this.#host.touch(this.#flow);
  }

  /** The peer's FIN is awaited too: without it the connection stays in FIN-WAIT-2. */
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

  protected override failReads(error: Error): void {
    // All that the peer sent has been received, and may still be read.
    if (this.#isReleased || !this.#isWhole) super.failReads(error);
  }

  protected override failAll(error: Error, cause: Error | undefined): void {
    this.#established.reject(error);
    super.failAll(error, cause);
  }

  /** Bytes for a destroyed link are read and dropped: the peer may still read what was written before. */
  #discard(): void {
    const { connection } = this.#flow;
    const now = this.#host.clock.now();
    while (connection.read(now) !== undefined);
    this.#host.touch(this.#flow);
  }
}
