import { LinkClosedError } from '@weir/io';
import type { Clock } from '@weir/io/time';
import { PulledLink } from '@weir/io/layers';
import type { QuicCore } from './connection/quic-core.ts';
import type { QuicStream } from './contract.ts';
import { STREAM_LINGER } from './limits.ts';
import { StreamFailedError } from './errors.ts';

/** The methods of a connection's core for streams. */
type StreamCore = Pick<
  QuicCore,
  'read' | 'write' | 'queued' | 'undelivered' | 'finish' | 'reset' | 'stopSending'
>;

/** The connection of a stream, as seen by the stream. */
export interface StreamLinkHost {
  readonly core: StreamCore;
  readonly clock: Clock;
  /** Schedules the connection: there may be data to send. */
  touch(): void;
}

/** The code with which a link ends its stream when it is destroyed; RFC 9000 gives codes no meaning. */
const DESTROYED = 0;

/**
 * A stream as a ByteLink. Received bytes stay with the connection until they are read, so that a slow reader stops its
 * sender (flow control by consumption); written bytes are queued there.
 *
 * A stream that the peer resets fails as a whole, because its data is truncated; data received in order before can
 * still be read. A stream that the peer stops (RFC 9000 §3.5) rejects writes, but is read to its end: the peer may have
 * sent all of its data.
 */
export class StreamLink extends PulledLink implements QuicStream {
  readonly id: number;
  readonly bidirectional: boolean;
  readonly #host: StreamLinkHost;

  constructor(host: StreamLinkHost, id: number, isOwn: boolean) {
    super(host.clock, STREAM_LINGER);
    this.#host = host;
    this.id = id;
    this.bidirectional = (id & 0x02) === 0;
    this.readEnded = !this.bidirectional && isOwn;
    this.writeEnded = !this.bidirectional && !isOwn;
  }

  reset(code: number): void {
    if (this.writeError) return;
    this.#resetNow(code);
    this.#endWrites(new LinkClosedError('the stream was reset'));
    this.settle();
  }

  stopSending(code: number): void {
    if (this.readEnded || this.readError) return;
    this.#host.core.stopSending(this.id, code);
    this.#host.touch();
    this.failReads(new LinkClosedError('the stream is not read any more'));
    this.settle();
  }

  // ---- events of the connection ----

  onReset(code: number): void {
    if (this.isOver) return;
    const failure = new StreamFailedError('reset', code);
    if (!this.writeEnded) this.#resetNow(DESTROYED);
    this.failByPeer(failure);
  }

  onStopped(code: number): void {
    this.#endWrites(new StreamFailedError('stopped', code));
    this.settle();
  }

  /** Called when both directions have ended, and the peer has acknowledged everything. */
  onClosed(): void {
    this.stopLinger();
  }

  /** Called when the connection has ended. */
  onConnectionEnd(error: Error): void {
    this.stopLinger();
    this.failAll(error, error);
  }

  protected override pull(): Uint8Array | undefined {
    const chunk = this.#host.core.read(this.id);
    if (chunk === undefined) return undefined;
    // Reading may have raised the peer's limits.
    this.#host.touch();
    if (typeof chunk !== 'string') return chunk;
    this.readEnded = true;
    this.settle();
    return undefined;
  }

  protected override push(chunk: Uint8Array, isOwned: boolean): boolean | undefined {
    const mayContinue = this.#host.core.write(this.id, chunk, isOwned);
    this.#host.touch();
    return mayContinue;
  }

  protected override finish(): void {
    this.#host.core.finish(this.id);
    this.#host.touch();
  }

  protected override stopReading(): void {
    if (this.readEnded) return;
    this.#host.core.stopSending(this.id, DESTROYED);
    this.#host.touch();
  }

  protected override abandon(): void {
    this.#resetNow(DESTROYED);
  }

  protected override get isUnfinished(): boolean {
    return this.untaken > 0;
  }

  protected override get untaken(): number {
    return this.#host.core.queued(this.id);
  }

  protected override get undelivered(): number {
    return this.#host.core.undelivered(this.id);
  }

  /** Ends the writing direction without a failure of the link. */
  #endWrites(error: Error): void {
    this.failWrites(error);
    this.writeEnded = true;
  }

  #resetNow(code: number): void {
    this.stopLinger();
    this.#host.core.reset(this.id, code);
    this.#host.touch();
  }
}
