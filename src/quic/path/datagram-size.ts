import type { PeerConnectionIds } from './connection-ids.ts';
import type { Paths } from './paths.ts';
import type { LossDetection } from '../recovery/loss-detection.ts';
import type { DatagramFrames } from '../packets/datagram-frames.ts';
import type { Telemetry } from '../connection/telemetry.ts';
import type { IpEndpoint } from '../../ip/ip-endpoint.ts';
import { MIN_DATAGRAM, UNANNOUNCED_DATAGRAM_SIZE } from '../limits.ts';
import { TAG_SIZE } from '../protection/packet-keys.ts';
import { MAX_PACKET_NUMBER_SIZE } from '../wire/packet-number.ts';
import { datagramHeaderSize } from '../wire/frame-writers.ts';

/** The parts of a connection that `DatagramSize` uses. */
export interface DatagramSizeParts {
  readonly acceptUnannouncedDatagrams: boolean;
  readonly peerIds: PeerConnectionIds;
  readonly paths: Paths<IpEndpoint>;
  readonly loss: LossDetection;
  readonly datagrams: DatagramFrames;
  readonly telemetry: Telemetry;
}

/** Applies the datagram size of the active path to congestion control and DATAGRAM frames. */
export class DatagramSize {
  readonly #acceptUnannounced: boolean;
  readonly #peerIds: PeerConnectionIds;
  readonly #paths: Paths<IpEndpoint>;
  readonly #loss: LossDetection;
  readonly #datagrams: DatagramFrames;
  readonly #telemetry: Telemetry;
  #peerFrameSize = 0;
  #current = MIN_DATAGRAM;

  constructor(parts: DatagramSizeParts) {
    this.#acceptUnannounced = parts.acceptUnannouncedDatagrams;
    this.#peerIds = parts.peerIds;
    this.#paths = parts.paths;
    this.#loss = parts.loss;
    this.#datagrams = parts.datagrams;
    this.#telemetry = parts.telemetry;
  }

  /** The current datagram size in bytes of UDP payload. */
  get current(): number {
    return this.#current;
  }

  /**
   * Sets the peer's limit.
   * @param maxDatagramFrameSize the peer's max_datagram_frame_size.
   */
  setPeer(maxDatagramFrameSize: number): void {
    this.#peerFrameSize =
      maxDatagramFrameSize === 0 && this.#acceptUnannounced
        ? UNANNOUNCED_DATAGRAM_SIZE + datagramHeaderSize(UNANNOUNCED_DATAGRAM_SIZE)
        : maxDatagramFrameSize;
    this.#applyToDatagrams();
  }

  /** Applies a change. Must be called when the active path or its MTU may have changed. */
  update(now: number): void {
    const { current } = this.#paths.active.mtu;
    if (current === this.#current) return;
    this.#current = current;
    this.#loss.control.onMtu(current);
    this.#applyToDatagrams();
    this.#telemetry.trace({ kind: 'mtu', bytes: current }, now);
  }

  #applyToDatagrams(): void {
    const header = 1 + this.#peerIds.current.length + MAX_PACKET_NUMBER_SIZE;
    this.#datagrams.setLimits(this.#peerFrameSize, this.#current - header - TAG_SIZE);
  }
}
