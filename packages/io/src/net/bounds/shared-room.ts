/** A bound in bytes that several queues of datagrams share. */
abstract class Room {
  protected readonly most: number;
  protected readonly least: number;

  /**
   * @param most total bytes of all queues.
   * @param least bytes that each queue may have beyond that, so that others cannot starve it.
   */
  constructor(most: number, least: number) {
    this.most = most;
    this.least = least;
  }

  /** Whether a queue of `own` bytes may add `cost`. */
  abstract allows(own: number, cost: number): boolean;
}

/** A room of which whoever comes first has what is left. */
export class SharedRoom extends Room {
  /** Bytes in use. */
  bytes = 0;

  allows(own: number, cost: number): boolean {
    return this.bytes + cost <= this.most || own + cost <= this.least;
  }
}

/** A room that the queues that are not empty share equally. */
export class EqualRoom extends Room {
  /** Number of queues that are not empty. */
  queues = 0;

  allows(own: number, cost: number): boolean {
    const queues = own === 0 ? this.queues + 1 : this.queues;
    return own + cost <= Math.max(this.most / queues, this.least);
  }
}
