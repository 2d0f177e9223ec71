import type { SystemError } from '../../../platform/sockets/errno.ts';
import { StreamPump, type PumpEvents } from '../../../platform/sockets/streams/stream-pump.ts';
import { LinkClosedError } from '../../errors.ts';
import { OWNED } from '../../links/link.ts';
import type { HalfPump } from './link-half.ts';
import type { LinkReader } from './link-reader.ts';
import type { LinkWriter } from './link-writer.ts';

/** Moves bytes from the reader of one link to the writer of another, in the kernel where it can. */
export class LinkTransfer implements HalfPump, PumpEvents {
  readonly #from: LinkReader;
  readonly #to: LinkWriter;
  readonly #moved: (bytes: number) => void;
  readonly #pump: StreamPump;
  readonly #done = Promise.withResolvers<void>();

  private constructor(from: LinkReader, to: LinkWriter, moved: (bytes: number) => void) {
    this.#from = from;
    this.#to = to;
    this.#moved = moved;
    this.#pump = new StreamPump(from.socket, to.socket, this);
  }

  /**
   * Moves everything until the end of the stream; what was put back or is queued goes first. The
   * end is not passed on.
   *
   * @param moved is called with the number of bytes that were written, at most once a turn.
   * @returns a promise that rejects when either link fails.
   */
  static run(from: LinkReader, to: LinkWriter, moved: (bytes: number) => void): Promise<void> {
    if (from.hasFront || to.isWaiting) return runAfterFront(from, to, moved);
    const transfer = new LinkTransfer(from, to, moved);
    from.source = transfer;
    to.sink = transfer;
    from.owner.waits();
    transfer.pump();
    return transfer.#done.promise;
  }

  get isWaiting(): boolean {
    return this.#pump.isWaiting;
  }

  pump(): void {
    this.#pump.pump();
  }

  fail(error: Error): void {
    this.#detach();
    this.#pump.stop();
    this.#done.reject(error);
  }

  /** @internal for the pump. */
  moved(bytes: number): void {
    this.#from.bytesRead += bytes;
    this.#to.bytesWritten += bytes;
    this.#moved(bytes);
  }

  /** @internal for the pump. */
  ended(): void {
    this.#detach();
    this.#done.resolve();
    this.#from.end();
  }

  /** @internal for the pump. */
  failed(side: 'from' | 'to', error: SystemError): void {
    this.#detach();
    this.#done.reject(error);
    (side === 'from' ? this.#from : this.#to).owner.fail(error);
  }

  #detach(): void {
    this.#from.source = undefined;
    this.#to.sink = undefined;
  }
}

/** First writes what a handshake has read too far, and what waits for the destination. */
async function runAfterFront(
  from: LinkReader,
  to: LinkWriter,
  moved: (bytes: number) => void,
): Promise<void> {
  if (to.isWaiting) await unlessFailed(from, to.drained());
  for (;;) {
    const chunk = from.takeFront();
    if (!chunk) break;
    const { length } = chunk;
    const full = to.write(chunk, OWNED);
    if (full) await unlessFailed(from, full);
    moved(length);
  }
  if (from.ended) return;
  const error = from.error ?? (to.mayWrite ? undefined : to.closedError);
  if (error) throw error;
  if (from.isInUse) throw new LinkClosedError('a read is already pending');
  // Not awaited: this frame would be kept for as long as the flow lives.
  return LinkTransfer.run(from, to, moved);
}

/** Waits for the destination; the failure of the source, which nothing reads meanwhile, ends it. */
const unlessFailed = (from: LinkReader, drained: Promise<void>): Promise<void> =>
  Promise.race([
    drained,
    from.owner.closed.then(() => {
      if (from.error) throw from.error;
      return drained;
    }),
  ]);
