import type { ByteLink, GateWaiter, SpliceProgress } from './link.ts';

const NOTHING = new Uint8Array(0);

/** Writes a chunk in the pieces that the gate of its direction allows, and counts them. */
export class LimitedWrite implements GateWaiter {
  readonly #to: Pick<ByteLink, 'write'>;
  /** Length of the chunk as a whole. */
  readonly #length: number;
  readonly #progress: SpliceProgress;
  #rest: Uint8Array;
  /** The wait at the gate; resolves when a piece was written and the link has drained. */
  #waiting: PromiseWithResolvers<void> | undefined;

  constructor(to: Pick<ByteLink, 'write'>, chunk: Uint8Array, progress: SpliceProgress) {
    this.#to = to;
    this.#length = chunk.length;
    this.#progress = progress;
    this.#rest = chunk;
  }

  /** @throws the error of the link */
  async run(): Promise<void> {
    while (this.#rest.length > 0) {
      const { gate } = this.#progress;
      const allowed = gate?.allowance() ?? Infinity;
      if (gate && allowed === 0) {
        this.#waiting = Promise.withResolvers();
        gate.wait(this);
        await this.#waiting.promise;
      } else {
        const full = this.#write(allowed);
        if (full) await full;
      }
    }
  }

  /** Ends the wait and drops the rest: the flow has ended, and its chunk is not kept until the gate opens. */
  cancel(): void {
    this.#rest = NOTHING;
    this.#progress.gate?.forget(this);
    this.#waiting?.resolve();
  }

  resume(): void {
    const waiting = this.#waiting;
    try {
      waiting?.resolve(this.#write(this.#progress.gate?.allowance() ?? Infinity));
    } catch (error) {
      waiting?.reject(error);
    }
  }

  #write(allowed: number): Promise<void> | undefined {
    const piece = allowed < this.#rest.length ? this.#rest.subarray(0, allowed) : this.#rest;
    if (piece.length === 0) return undefined;
    this.#rest = this.#rest.subarray(piece.length);
    const { length } = piece;
    // The memory of a chunk passes on only as a whole.
    const full = this.#to.write(piece, length === this.#length);
    // Before the link has drained: the flows that share a gate must not all write what is left.
    this.#progress.moved(length);
    return full;
  }
}
