import { Duplex } from 'node:stream';
import { asError } from '../errors.ts';
import type { ByteLink } from '../net/links/link.ts';

/** A link as a stream of Node, for Node's HTTP and TLS. The link belongs to it from then on. */
export class LinkDuplex extends Duplex {
  readonly #link: ByteLink;

  constructor(link: ByteLink) {
    super({ allowHalfOpen: true });
    this.#link = link;
    void link.closed.then((cause) => cause && this.destroy(cause));
  }

  override _read(): void {
    this.#link.read().then(
      (chunk) => this.push(chunk ?? null),
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

  /** Calls `done` when the work is over; links reject or throw. */
  #after(work: () => Promise<void> | undefined, done: (error?: Error) => void): void {
    let pending: Promise<void> | undefined;
    try {
      pending = work();
    } catch (error) {
      done(asError(error));
      return;
    }
    if (!pending) done();
    else {
      pending.then(
        () => done(),
        (error: unknown) => done(asError(error)),
      );
    }
  }
}
