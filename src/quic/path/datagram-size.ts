import { MIN_DATAGRAM, UNANNOUNCED_DATAGRAM_SIZE } from '../limits.ts';
import type { ConnectionParts } from '../connection/parts.ts';
import { TAG_SIZE } from '../protection/packet-keys.ts';
import { MAX_PACKET_NUMBER_SIZE } from '../wire/packet-number.ts';
import { datagramHeaderSize } from '../wire/frame-writers.ts';

/** Applies the datagram size of the active path to congestion control and DATAGRAM frames. */
export class DatagramSize {
  readonly #parts: ConnectionParts;
  #peerFrameSize = 0;
  #current = MIN_DATAGRAM;

  constructor(parts: ConnectionParts) {
    this.#parts = parts;
  }

  /** Bytes of UDP payload. */
  get current(): number {
    return this.#current;
  }

  /** @param maxDatagramFrameSize the peer's max_datagram_frame_size. */
  setPeer(maxDatagramFrameSize: number): void {
    const { acceptUnannouncedDatagrams } = this.#parts.settings;
    this.#peerFrameSize =
      maxDatagramFrameSize === 0 && acceptUnannouncedDatagrams
        ? UNANNOUNCED_DATAGRAM_SIZE + datagramHeaderSize(UNANNOUNCED_DATAGRAM_SIZE)
        : maxDatagramFrameSize;
    this.#applyToDatagrams();
  }

  /** Must be called when the active path or its MTU may have changed. */
  update(now: number): void {
    const { paths, loss, trace } = this.#parts;
    const { current } = paths.active.mtu;
    if (current === this.#current) return;
    this.#current = current;
    loss.control.onMtu(current);
    this.#applyToDatagrams();
    if (trace !== undefined) trace({ kind: 'mtu', bytes: current }, now);
  }

  #applyToDatagrams(): void {
    const { datagrams, peerIds } = this.#parts;
    const header = 1 + peerIds.current.length + MAX_PACKET_NUMBER_SIZE;
    datagrams.setLimits(this.#peerFrameSize, this.#current - header - TAG_SIZE);
  }
}
