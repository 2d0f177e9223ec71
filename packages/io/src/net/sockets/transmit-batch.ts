import {
  type Ecn,
  type Transmit,
  assignEndpoint,
  blankEndpoint,
  type IpEndpoint,
} from '@weir/base/ip';

/** Bytes of one batch, which is one system call: the most that UDP carries with its header. */
export const MAX_BATCH_BYTES = 65_507;
/** Datagrams of one batch: the most that Linux accepts with UDP_SEGMENT. */
export const MAX_BATCH_DATAGRAMS = 64;

/** The sender of a batch, which receives what the socket reports about it. */
export interface BatchOwner {
  /** Called when a datagram of this size, in bytes, exceeds the path MTU. */
  onTooLarge(bytes: number): void;
}

/**
 * Datagrams for one send: of one path, one after the other, all of one size but the last, which may be shorter. Batches
 * are reused.
 */
export class TransmitBatch implements Transmit {
  readonly buffer: Uint8Array;
  readonly offset = 0;
  length = 0;
  /** Bytes of each datagram but the last; 0 for a single one. */
  segmentSize = 0;
  ecn: Ecn = 0;
  owner: BatchOwner | undefined;
  readonly #destination = blankEndpoint();
  readonly #source = blankEndpoint();
  #hasSource = false;

  constructor(bytes: number = MAX_BATCH_BYTES) {
    this.buffer = Buffer.allocUnsafeSlow(bytes);
  }

  get destination(): IpEndpoint {
    return this.#destination;
  }

  get source(): IpEndpoint | undefined {
    return this.#hasSource ? this.#source : undefined;
  }

  /** Starts an empty batch for a path. */
  begin(destination: IpEndpoint, source: IpEndpoint | undefined): void {
    this.length = 0;
    this.segmentSize = 0;
    this.ecn = 0;
    assignEndpoint(this.#destination, destination);
    this.#hasSource = source !== undefined;
    if (source !== undefined) assignEndpoint(this.#source, source);
  }
}
