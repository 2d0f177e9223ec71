import type { Duplex } from 'node:stream';
import { LinkDuplex } from '@weir/io/duplex';
import type { ByteLink } from '@weir/io/links';

/** Options of a stream to a destination. */
export interface SocketOptions {
  /** Whether the stream stays writable after the end of the destination's side; true by default, as for a Duplex. */
  readonly allowHalfOpen?: boolean | undefined;
}

/**
 * A stream to a destination. It has the methods of `net.Socket` that HTTP clients call, of which those that concern a
 * descriptor have no effect: the outbound's carrier is configured by Weir.
 */
export class WeirSocket extends LinkDuplex {
  /** The id of the flow, as in `connections()`. */
  readonly flowId: number;
  /** Milliseconds of `setTimeout`. */
  timeout = 0;
  #idle: NodeJS.Timeout | undefined;

  /** @internal */
  constructor(link: ByteLink, flowId: number, { allowHalfOpen = true }: SocketOptions) {
    super(link);
    this.flowId = flowId;
    this.allowHalfOpen = allowHalfOpen;
    // A stream that is only written to learns of a failure as well. Otherwise a read reports it, after the data that
    // the destination had sent before.
    void link.closed.then((cause) => {
      if (cause && this.readableFlowing === null && this.listenerCount('readable') === 0) {
        this.read(0);
      }
    });
  }

  /** Emits `timeout` after so many milliseconds without a byte in either direction; 0 ends that. */
  setTimeout(milliseconds: number, listener?: () => void): this {
    clearTimeout(this.#idle);
    this.#idle = undefined;
    this.timeout = milliseconds;
    if (milliseconds > 0) {
      this.#idle = setTimeout(() => this.emit('timeout'), milliseconds).unref();
      if (listener) this.once('timeout', listener);
    } else if (listener) this.off('timeout', listener);
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  override push(...args: Parameters<Duplex['push']>): boolean {
    this.#idle?.refresh();
    return super.push(...args);
  }

  override _write(...args: Parameters<LinkDuplex['_write']>): void {
    this.#idle?.refresh();
    super._write(...args);
  }

  override _writev(...args: Parameters<LinkDuplex['_writev']>): void {
    this.#idle?.refresh();
    super._writev(...args);
  }

  override _destroy(...args: Parameters<LinkDuplex['_destroy']>): void {
    clearTimeout(this.#idle);
    super._destroy(...args);
  }
}
