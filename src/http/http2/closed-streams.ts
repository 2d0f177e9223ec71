import { connectionError, streamError, type Http2Error } from './errors.ts';
import { CLOSED_STREAM_LIMIT, SKIPPED_RANGE_LIMIT } from './limits.ts';

/** Stream ids that the peer skipped, from the first to the last. */
interface SkippedRange {
  readonly first: number;
  readonly last: number;
}

/**
 * Remembers how the peer ended its side of recently closed streams, to distinguish frames that the peer must not send
 * any more from frames that were in flight when this side reset a stream, which are ignored (RFC 9113 §5.1). Older
 * streams are treated as reset by this side.
 */
export class ClosedStreams {
  /** How the peer ended streams, in the order in which they were closed. */
  readonly #ends = new Map<number, 'END_STREAM' | 'RST_STREAM'>();
  readonly #skipped: SkippedRange[] = [];

  add(id: number, by: 'END_STREAM' | 'RST_STREAM'): void {
    if (this.#ends.size >= CLOSED_STREAM_LIMIT) {
      for (const oldest of this.#ends.keys()) {
        this.#ends.delete(oldest);
        break;
      }
    }
    this.#ends.set(id, by);
  }

  /** Called when the peer opens stream `id` after `last`: the ids in between are closed (RFC 9113 §5.1.1). */
  skip(last: number, id: number): void {
    // The ids of one side have a distance of two; before its first stream, `last` is 0.
    const first = last === 0 ? 2 - (id % 2) : last + 2;
    if (first >= id) return;
    if (this.#skipped.length >= SKIPPED_RANGE_LIMIT) this.#skipped.shift();
    this.#skipped.push({ first, last: id - 2 });
  }

  /** Returns the error of HEADERS or DATA on a closed stream; `undefined` if the frame is ignored. */
  errorOf(id: number): Http2Error | undefined {
    const end = this.#ends.get(id);
    if (end === 'END_STREAM') {
      return connectionError('STREAM_CLOSED', 'a frame follows the end of its stream');
    }
    if (end === 'RST_STREAM') {
      return streamError('STREAM_CLOSED', 'a frame follows the reset of its stream');
    }
    if (!this.#skipped.some(({ first, last }) => first <= id && id <= last)) return undefined;
    return connectionError('PROTOCOL_ERROR', 'a stream is opened after one with a larger id');
  }
}
