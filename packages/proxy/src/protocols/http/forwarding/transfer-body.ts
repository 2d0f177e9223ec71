import { type Clock, Deadline } from '@weir/io/time';
import { messageOf } from '@weir/base';
import { DeadlineError, ProtocolError } from '@weir/io';
import { UnitCost, UnitShare } from '@weir/io/bounds';
import type { ByteLink } from '@weir/io/links';
import {
  createDecoder,
  type BodyDecoder,
  type BodyEncoder,
  type Framing,
  MessageError,
} from '@weir/http/http1';
import { DRAIN_LIMIT, DRAIN_MS } from '../limits.ts';

/** The two sides of a forwarded exchange. */
export type ExchangeSide = 'client' | 'origin';

/** An error on one side of an exchange. */
export class SideError extends ProtocolError {
  readonly side: ExchangeSide;
  override readonly cause: Error;

  constructor(side: ExchangeSide, cause: unknown) {
    super(`${side}: ${messageOf(cause)}`);
    this.side = side;
    this.cause = cause instanceof Error ? cause : new ProtocolError(messageOf(cause));
  }
}

/** One end of a transfer, with the side for its errors. */
export interface TransferEnd {
  readonly link: ByteLink;
  readonly side: ExchangeSide;
}

export interface BodyTransfer {
  readonly from: TransferEnd;
  readonly to: TransferEnd;
  readonly decoder: BodyDecoder;
  readonly encoder: BodyEncoder;
  /** The head before the body. */
  readonly head: Uint8Array;
  /**
   * Whether the first bytes of the body were received, so that the head can be sent together with
   * them.
   */
  readonly ready: boolean;
  /** Called before the first byte is sent. */
  readonly onSend?: () => void;
  /** Called for each chunk that is read or written. */
  readonly touch: () => void;
  /** Aborts reading the body. */
  readonly signal?: AbortSignal;
}

/**
 * Sends a head and then the body, from one framing to another, buffering no more than one chunk: the back-pressure of
 * `to` reaches `from`. A failure of `from` ends the transfer even while `to` accepts nothing: the body would be
 * truncated in any case.
 *
 * @throws {SideError} with the side that failed or whose framing is invalid.
 */
export async function transferBody(transfer: BodyTransfer): Promise<void> {
  const { from, to, decoder, encoder, onSend, touch, signal } = transfer;
  const source = SourceWatch.of(from);
  let units: UnitShare | undefined;
  let waiting: Uint8Array[] = [transfer.head];
  if (!decoder.done && !transfer.ready) {
    onSend?.();
    await send(to, waiting, source);
    waiting = [];
  }
  while (!decoder.done) {
    const before = decoder.chunks;
    const payload = await receive(from, decoder, signal);
    const chunks = decoder.chunks - before;
    // Most reads have one chunk, or none.
    const turn = chunks > 1 ? (units ??= new UnitShare()).take(chunks * UnitCost.frame) : undefined;
    if (turn) await turn;
    touch();
    if (payload.length > 0) waiting.push(...encoder.frame(payload));
    if (decoder.done) break;
    onSend?.();
    if (waiting.length > 0) await send(to, waiting, source);
    waiting = [];
    touch();
  }
  waiting.push(...encoder.finish(decoder.trailers));
  onSend?.();
  if (waiting.length > 0) await send(to, waiting);
}

/** Reads one chunk of a body; bytes after the body are put back into the link. */
async function receive(
  { link, side }: TransferEnd,
  decoder: BodyDecoder,
  signal: AbortSignal | undefined,
): Promise<Uint8Array[]> {
  try {
    const payload: Uint8Array[] = [];
    const chunk = await link.read(signal);
    if (chunk === undefined) {
      decoder.end();
      return payload;
    }
    const used = decoder.push(chunk, payload);
    if (used < chunk.length) link.unread(chunk.subarray(used));
    return payload;
  } catch (error) {
    throw new SideError(side, error);
  }
}

/** @param source the source of the rest of the body; `undefined` if nothing follows. */
async function send(
  { link, side }: TransferEnd,
  chunks: readonly Uint8Array[],
  source?: SourceWatch,
): Promise<void> {
  try {
    const full = link.writeOutput(chunks);
    if (full) await (source ? source.unlessFailed(full) : full);
  } catch (error) {
    throw error instanceof SideError ? error : new SideError(side, error);
  }
}

/**
 * Detects the failure of a link that is not read while the other side is full. One watch per link is shared by all its
 * requests: reactions to `closed` stay in memory until the link closes.
 */
export class SourceWatch {
  static readonly #all = new WeakMap<ByteLink, SourceWatch>();
  #failure: SideError | undefined;
  /** Functions that each reject a pending wait. */
  readonly #waits = new Set<(error: SideError) => void>();

  static of(end: TransferEnd): SourceWatch {
    let watch = SourceWatch.#all.get(end.link);
    if (watch === undefined) {
      watch = new SourceWatch(end);
      SourceWatch.#all.set(end.link, watch);
    }
    return watch;
  }

  private constructor({ link, side }: TransferEnd) {
    void link.closed.then((cause) => {
      if (!cause) return;
      this.#failure = new SideError(side, cause);
      for (const reject of this.#waits) reject(this.#failure);
    });
  }

  /** Waits for the other side. @throws {SideError} when the source fails first. */
  async unlessFailed(full: Promise<void>): Promise<void> {
    if (this.#failure) {
      full.catch(() => undefined);
      throw this.#failure;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waits.add(reject);
    full.then(resolve, reject);
    try {
      await promise;
    } finally {
      this.#waits.delete(reject);
    }
  }
}

/** Whether a body that is not forwarded may be short enough to drain. */
export const isDrainable = (framing: Framing): boolean =>
  framing.kind !== 'length' || framing.length <= DRAIN_LIMIT;

/**
 * Drains a request body, so that the next request can be read; `false` when it is invalid, too long
 * or too slow.
 */
export async function drainBody(link: ByteLink, framing: Framing, clock: Clock): Promise<boolean> {
  const decoder = createDecoder(framing);
  if (decoder.done) return true;
  using deadline = new Deadline(clock, DRAIN_MS, 'draining a request body');
  let taken = 0;
  try {
    while (!decoder.done && taken <= DRAIN_LIMIT) {
      const chunk = await link.read(deadline.signal);
      if (chunk === undefined) return false;
      const used = decoder.push(chunk, []);
      taken += used;
      if (used < chunk.length) link.unread(chunk.subarray(used));
    }
    return decoder.done;
  } catch (error) {
    if (error instanceof MessageError || error instanceof DeadlineError) return false;
    throw error;
  }
}
