/** A bound that several queues of datagrams share. */
export class SharedRoom {
  /** Bytes in use. */
  bytes = 0;
  readonly #most: number;
  readonly #least: number;

  /**
   * @param most total bytes of all queues.
   * @param least bytes that each queue may have beyond that, so that others cannot starve it.
   */
  constructor(most: number, least: number) {
    this.#most = most;
    this.#least = least;
  }

  /** Whether a queue of `own` bytes may add `cost`. */
  allows(own: number, cost: number): boolean {
    return this.bytes + cost <= this.#most || own + cost <= this.#least;
  }
}

/** A bound that several queues of datagrams share equally, those that are not empty. */
export class EqualRoom {
  /** Number of queues that are not empty. */
  queues = 0;
  readonly #most: number;
  readonly #least: number;

  /**
   * @param most total bytes of all queues.
   * @param least bytes that each queue may have beyond that.
   */
  constructor(most: number, least: number) {
    this.#most = most;
    this.#least = least;
  }

  /** Whether a queue of `own` bytes may add `cost`. */
  allows(own: number, cost: number): boolean {
    const queues = own === 0 ? this.queues + 1 : this.queues;
    return own + cost <= Math.max(this.#most / queues, this.#least);
  }
}
