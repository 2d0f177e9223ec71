import type { TcpFlow } from './tcp-flow.ts';

/** The memory of all connections of a stack: what is unread and what is unacknowledged. */
export class FlowMemory {
  readonly #limit: number;
  #held = 0;

  /** @param limit in bytes: see `MAX_BUFFERED_BYTES`. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Bytes that all connections hold. */
  get held(): number {
    return this.#held;
  }

  /** Whether there is memory for larger buffers. */
  get mayGrow(): boolean {
    return this.#held * 2 < this.#limit;
  }

  /** Whether all of the memory is used. */
  get isShort(): boolean {
    return this.#held >= this.#limit;
  }

  /** A connection holds this number of bytes now. */
  account(flow: TcpFlow, held: number): void {
    this.#held += held - flow.held;
    flow.held = held;
  }
}
