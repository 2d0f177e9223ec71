import { StreamPump, type PumpEvents } from '../../../platform/sockets/streams/stream-pump.ts';
import { asError } from '@weir/base';
import { LinkClosedError, WriteError } from '../../errors.ts';
import { LimitedWrite } from '../../links/limited-write.ts';
import { type ByteGate, OWNED, type SpliceProgress } from '../../links/link.ts';
import type { HalfPump } from './link-half.ts';
import type { LinkReader } from './link-reader.ts';
import type { LinkWriter } from './link-writer.ts';

/** Moves bytes from the reader of one link to the writer of another, in the kernel where possible. */
export class LinkTransfer implements HalfPump, PumpEvents {
  readonly #from: LinkReader;
  readonly #to: LinkWriter;
  readonly #progress: SpliceProgress;
  readonly #pump: StreamPump;
  readonly #done = Promise.withResolvers<void>();

  private constructor(from: LinkReader, to: LinkWriter, progress: SpliceProgress) {
    this.#from = from;
    this.#to = to;
    this.#progress = progress;
    this.#pump = new StreamPump(from.socket, to.socket, this);
  }

  /**
   * Moves everything until the end of the stream; chunks that were put back or are queued go first. The
   * end is not passed on.
   * @param progress its `moved` is called at most once a turn.
   * @returns a promise that rejects when either link fails; with a `WriteError` for `to`.
   */
  static run(from: LinkReader, to: LinkWriter, progress: SpliceProgress): Promise<void> {
    if (from.hasFront || to.isWaiting) return runAfterFront(from, to, progress);
    const transfer = new LinkTransfer(from, to, progress);
    from.source = transfer;
    to.sink = transfer;
    from.owner.waits();
    transfer.pump();
    return transfer.#done.promise;
  }

  get isWaiting(): boolean {
    return this.#pump.isWaiting;
  }

  /** Asked by the pump in each turn. @internal */
  get gate(): ByteGate | undefined {
    return this.#progress.gate;
  }

  pump(): void {
    this.#pump.pump();
  }

  sourceFailed(error: Error): void {
    this.#progress.sourceFailed(error);
  }

  fail(error: Error, side: 'from' | 'to'): void {
    this.#detach();
    this.#pump.stop();
    this.#done.reject(side === 'to' ? new WriteError(error) : error);
  }

  /** Called by the pump after bytes were moved. @internal */
  moved(bytes: number): void {
    this.#from.bytesRead += bytes;
    this.#to.bytesWritten += bytes;
    this.#progress.moved(bytes);
  }

  /** Called by the pump at the end of the stream. @internal */
  ended(): void {
    const { failure } = this.#from;
    if (failure) {
      this.failed('from', failure);
      return;
    }
    this.#detach();
    this.#done.resolve();
    this.#from.end();
  }

  /** Called by the pump when one side has failed. @internal */
  failed(side: 'from' | 'to', error: Error): void {
    this.#detach();
    this.#done.reject(side === 'to' ? new WriteError(error) : error);
    if (side === 'from') this.#from.owner.fail(error);
    else this.#to.owner.peerFailed(error);
  }

  #detach(): void {
    this.#from.source = undefined;
    this.#to.sink = undefined;
  }
}

/** First writes the bytes that a handshake read ahead, and those queued for the destination. */
async function runAfterFront(
  from: LinkReader,
  to: LinkWriter,
  progress: SpliceProgress,
): Promise<void> {
  if (to.isWaiting) await unlessDestroyed(from, to.drained(), progress);
  for (;;) {
    const chunk = from.takeFront();
    if (!chunk) break;
    if (progress.gate) {
      const write = new LimitedWrite(to, chunk, progress);
      try {
        await unlessDestroyed(from, write.run(), progress);
      } finally {
        write.cancel();
      }
      continue;
    }
    const { length } = chunk;
    const full = to.write(chunk, OWNED);
    if (full) await unlessDestroyed(from, full, progress);
    progress.moved(length);
  }
  if (from.ended) return;
  if (from.error) throw from.error;
  if (!to.mayWrite) throw new WriteError(to.closedError);
  if (from.isInUse) throw new LinkClosedError('a read is already pending');
  // Not awaited: this frame would be kept for as long as the flow lives.
  return LinkTransfer.run(from, to, progress);
}

/** Waits for the destination to drain, unless the source, which is not read meanwhile, is destroyed. */
function unlessDestroyed(
  from: LinkReader,
  drained: Promise<void>,
  progress: SpliceProgress,
): Promise<void> {
  const written = drained.catch((error: unknown) => {
    throw new WriteError(asError(error));
  });
  const destroyed = from.owner.closed.then((cause) => {
    if (from.isDropped) throw from.error ?? new LinkClosedError();
    if (cause) progress.sourceFailed(cause);
    return written;
  });
  return Promise.race([written, destroyed]);
}
