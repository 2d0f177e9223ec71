import type { TcpFlow } from './tcp-flow.ts';

/** The memory of all connections of a stack: unread and unacknowledged data. */
export class FlowMemory {
  readonly #limit: number;
  #held = 0;

  /** @param limit the bound in bytes: see `MAX_BUFFERED_BYTES`. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Number of bytes that all connections hold. */
  get held(): number {
    return this.#held;
  }

  /** Whether there is memory for larger buffers. */
  get mayGrow(): boolean {
    return this.#held * 2 < this.#limit;
  }

  /** Whether all of the memory is in use. */
  get isShort(): boolean {
    return this.#held >= this.#limit;
  }

  /** Sets the number of bytes that a connection now holds. */
  account(flow: TcpFlow, held: number): void {
    this.#held += held - flow.held;
    flow.held = held;
  }
}
