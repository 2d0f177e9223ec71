import type { ByteLink } from '../../net/link.ts';
import type { BodyDecoder, BodyEncoder } from './body.ts';
import { SideError, type Side } from './errors.ts';

/** One end of a transfer: a link, and the side it is named by when it fails. */
export interface End {
  readonly link: ByteLink;
  readonly side: Side;
}

export interface Transfer {
  readonly from: End;
  readonly to: End;
  readonly decoder: BodyDecoder;
  readonly encoder: BodyEncoder;
  /** The head before the body. */
  readonly head: Uint8Array;
  /** Whether first bytes of the body already wait in `from`, so that the head can go with them. */
  readonly ready: boolean;
  /** Called for each chunk that was read or written. */
  readonly touch: () => void;
  /** Ends the wait for more of the body. */
  readonly signal?: AbortSignal;
}

/**
 * Sends a head and streams a body after it, out of one framing and into another, holding no more
 * than a chunk: the back-pressure of `to` is what holds `from` back.
 *
 * @throws {SideError} naming the side that failed or broke its framing.
 */
export async function transferBody(transfer: Transfer): Promise<void> {
  const { from, to, decoder, encoder, touch, signal } = transfer;
  let waiting: Uint8Array[] = [transfer.head];
  if (!decoder.done && !transfer.ready) {
    await send(to, waiting);
    waiting = [];
  }
  while (!decoder.done) {
    const payload = await receive(from, decoder, signal);
    touch();
    if (payload.length > 0) waiting.push(...encoder.frame(payload));
    if (decoder.done) break;
    if (waiting.length > 0) await send(to, waiting);
    waiting = [];
    touch();
  }
  waiting.push(...encoder.finish(decoder.trailers));
  if (waiting.length > 0) await send(to, waiting);
}

/** Reads one chunk of a body; what follows the body stays in the link. */
async function receive(
  { link, side }: End,
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

async function send({ link, side }: End, chunks: readonly Uint8Array[]): Promise<void> {
  try {
    const full = link.writeAll(chunks);
    if (full) await full;
  } catch (error) {
    throw new SideError(side, error);
  }
}
