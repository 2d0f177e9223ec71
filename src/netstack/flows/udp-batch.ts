import type { UdpDatagram } from '../wire/udp.ts';

/**
 * The datagrams of a batch that the device has merged (UDP segmentation offload): all of one size but for
 * the last. A datagram that was not merged is a batch of one.
 *
 *     batch.begin(datagram, segmentSize);
 *     while (batch.next()) use(datagram.bytes, batch.start, batch.end);
 */
export class UdpBatch {
  /** The start of the current datagram's payload. */
  start = 0;
  end = 0;
  #next = 0;
  #batchEnd = 0;
  #size = 0;
  #isEmpty = false;

  /** @param segmentSize bytes of payload in each datagram; 0 for a datagram that was not merged. */
  begin(datagram: UdpDatagram, segmentSize: number): void {
    this.#next = datagram.payload;
    this.#batchEnd = datagram.payloadEnd;
    this.#size = segmentSize === 0 ? Infinity : segmentSize;
    // An empty payload is a datagram as well.
    this.#isEmpty = datagram.payload === datagram.payloadEnd;
    this.start = this.end = datagram.payload;
  }

  /** Moves to the next datagram. @returns false after the last one. */
  next(): boolean {
    if (this.#isEmpty) {
      this.#isEmpty = false;
      return true;
    }
    if (this.#next >= this.#batchEnd) return false;
    this.start = this.#next;
    this.end = Math.min(this.#batchEnd, this.start + this.#size);
    this.#next = this.end;
    return true;
  }
}
