import { LinkClosedError } from '../../../net/errors.ts';
import type { ByteLink } from '../../../net/links/link.ts';
import { unlessAborted } from '../../../net/time/unless-aborted.ts';

/**
 * A stream whose response is still pending: a server may send it with the destination's first data (mihomo's listener),
 * which many destinations send only once they have received some. Writes pass; reads wait for the response. An error in
 * the response fails the link.
 */
export class LateResponseLink implements ByteLink {
  readonly #stream: ByteLink;
  /** Pending until the response was read, then `undefined`. */
  #response: Promise<void> | undefined;
  #isReading = false;
  /** Whether written data is still being delivered, although nothing is read. */
  #isReset = false;

  /** @param response resolves once a successful response was read, and rejects otherwise. */
  constructor(stream: ByteLink, response: Promise<void>) {
    this.#stream = stream;
    this.#response = response;
    response.then(
      () => (this.#response = undefined),
      (error: Error) => {
        if (!this.#isReset) stream.destroy(error);
      },
    );
  }

  get closed(): Promise<Error | undefined> {
    return this.#stream.closed;
  }

  read(signal?: AbortSignal): Promise<Uint8Array | undefined> {
    return this.#response && !this.#isReading
      ? this.#firstRead(this.#response, signal)
      : this.#laterRead(signal);
  }

  unread(chunk: Uint8Array): void {
    if (this.#response) throw new RangeError('nothing was read that could be put back');
    this.#stream.unread(chunk);
  }

  takeAhead(): Uint8Array | undefined {
    return this.#response ? undefined : this.#stream.takeAhead?.();
  }

  write(chunk: Uint8Array, isOwned?: boolean): Promise<void> | undefined {
    return this.#stream.write(chunk, isOwned);
  }

  writeOutput(chunks: readonly Uint8Array[], isOwned?: boolean): Promise<void> | undefined {
    return this.#stream.writeOutput(chunks, isOwned);
  }

  closeWrite(): Promise<void> {
    return this.#stream.closeWrite();
  }

  destroy(cause?: Error): void {
    this.#stream.destroy(cause);
  }

  resetAfterData(cause: Error): void {
    this.#isReset = true;
    this.#stream.resetAfterData(cause);
  }

  async #firstRead(
    response: Promise<void>,
    signal: AbortSignal | undefined,
  ): Promise<Uint8Array | undefined> {
    this.#isReading = true;
    try {
      await unlessAborted(response, signal);
    } finally {
      this.#isReading = false;
    }
    return this.#stream.read(signal);
  }

  #laterRead(signal: AbortSignal | undefined): Promise<Uint8Array | undefined> {
    if (this.#isReading) return Promise.reject(new LinkClosedError('a read is already pending'));
    return this.#stream.read(signal);
  }
}
