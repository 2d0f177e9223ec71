import { LinkClosedError } from '../../net/errors.ts';
import type { ByteLink } from '../../net/link.ts';
import { freeChunk } from '../../net/spent-chunk.ts';
import { abortReason } from '../../net/read-queue.ts';
import { Body, type BodyParts } from './body.ts';

/** The stream inside a VMess connection. */
export class BodyLink implements ByteLink {
  readonly #body: Body;
  /** What was given back, the next one last. */
  readonly #ahead: Uint8Array[] = [];

  constructor(parts: BodyParts) {
    this.#body = new Body(parts);
  }

  get closed(): Promise<Error | undefined> {
    return this.#body.closed;
  }

  async read(signal?: AbortSignal): Promise<Uint8Array | undefined> {
    if (signal?.aborted) throw abortReason(signal);
    const given = this.#ahead.pop();
    if (given) return given;
    for (;;) {
      const payload = await this.#body.read(signal);
      if (payload === undefined || payload.length > 0) return payload;
    }
  }

  unread(chunk: Uint8Array): void {
    if (chunk.length > 0) this.#ahead.push(chunk);
  }

  write(chunk: Uint8Array): Promise<void> | undefined {
    if (!this.#body.isWritable) return Promise.reject(this.#closedError());
    return chunk.length > 0 ? this.#body.sendStream(chunk) : undefined;
  }

  give(chunk: Uint8Array): Promise<void> | undefined {
    const full = this.write(chunk);
    freeChunk(chunk); // its sealed copy is what is sent
    return full;
  }

  writeAll(chunks: readonly Uint8Array[]): Promise<void> | undefined {
    const [only] = chunks;
    return this.write(chunks.length === 1 && only ? only : Buffer.concat(chunks));
  }

  /** Sends the header when nothing was written so far, so that a server may speak first. */
  sendPreface(): void {
    this.#body.sendPreface();
  }

  closeWrite(): Promise<void> {
    return this.#body.closeWrite();
  }

  destroy(cause?: Error): void {
    this.#ahead.length = 0;
    this.#body.destroy(cause);
  }

  #closedError(): Error {
    return this.#body.cause ?? new LinkClosedError();
  }
}
