import { Duplex } from 'node:stream';
import { asError } from '@weir/base';
import type { ByteLink } from './link.ts';

/**
 * Adapts a link to a Node stream, for Node's HTTP and TLS, and takes ownership of the link.
 *
 * A Node stream loses unread data when a write fails, or when it is destroyed. Here a failure is reported by a read,
 * after the data that the peer had sent before.
 */
export class LinkDuplex extends Duplex {
  readonly #link: ByteLink;
  /** Whether the end of the stream has been read. */
  #hasEnded = false;
  #failure: Error | undefined;

  constructor(link: ByteLink) {
    super({ allowHalfOpen: true });
    this.#link = link;
    void link.closed.then((cause) => cause && this.#fail(cause));
  }

  override _read(): void {
    this.#link.read().then(
      (chunk) => {
        this.#hasEnded = chunk === undefined;
        this.push(chunk ?? null);
        if (this.#hasEnded && this.#failure) this.destroy(this.#failure);
      },
      (error: unknown) => this.destroy(asError(error)),
    );
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: (error?: Error) => void): void {
    this.#after(() => this.#link.write(chunk), done);
  }

  override _writev(
    chunks: readonly { readonly chunk: Buffer }[],
    done: (error?: Error) => void,
  ): void {
    this.#after(() => this.#link.writeOutput(chunks.map(({ chunk }) => chunk)), done);
  }

  override _final(done: (error?: Error) => void): void {
    this.#after(() => this.#link.closeWrite(), done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#link.destroy(error ?? undefined);
    done(error);
  }

  /** Records a failed write, after which nothing can be sent. */
  #fail(error: Error): void {
    this.#failure ??= error;
    if (this.#hasEnded) this.destroy(this.#failure);
  }

  /** Calls `done` when the work has settled, without an error even if the link has failed. */
  #after(work: () => Promise<void> | undefined, done: () => void): void {
    const pending = work();
    if (!pending) {
      done();
      return;
    }
    pending.then(done, (error: unknown) => {
      this.#fail(asError(error));
      done();
    });
  }
}
