import { MIN_DATAGRAM, UNANNOUNCED_DATAGRAM_SIZE } from '../limits.ts';
import type { ConnectionParts } from '../connection/parts.ts';
import { TAG_SIZE } from '../protection/packet-keys.ts';
import { MAX_PACKET_NUMBER_SIZE } from '../wire/packet-number.ts';
import { datagramHeaderSize } from '../wire/frame-writers.ts';

/** Takes the size of datagrams that a path allows to all that depends on it. */
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

  /** The peer's transport parameters of these names. */
  setPeer(maxDatagramFrameSize: number): void {
    const { acceptUnannouncedDatagrams } = this.#parts.settings;
    this.#peerFrameSize =
      maxDatagramFrameSize === 0 && acceptUnannouncedDatagrams
        ? UNANNOUNCED_DATAGRAM_SIZE + datagramHeaderSize(UNANNOUNCED_DATAGRAM_SIZE)
        : maxDatagramFrameSize;
    this.#applyToDatagrams();
  }

  /** To be called when the path in use, or what is known of it, may have changed. */
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
