import type { ConnectionParts } from '../connection/parts.ts';
import { MIN_DATAGRAM, UNANNOUNCED_DATAGRAM_SIZE } from '../limits.ts';
import { TAG_SIZE } from '../protection/packet-keys.ts';
import { MAX_PACKET_NUMBER_SIZE } from '../wire/packet-header.ts';
import { datagramHeaderSize } from '../wire/frame-writers.ts';
import { TransportErrorCode } from '../errors.ts';
import type { Path } from './paths.ts';

/** Applies the datagram size of the active path to congestion control and DATAGRAM frames. */
export class DatagramSize {
  readonly #parts: ConnectionParts;
  #peerFrameSize = 0;
  /** The current datagram size in bytes of UDP payload. */
  current = MIN_DATAGRAM;

  constructor(parts: ConnectionParts) {
    this.#parts = parts;
  }

  /**
   * Sets the peer's limit.
   * @param maxDatagramFrameSize the peer's max_datagram_frame_size.
   */
  setPeer(maxDatagramFrameSize: number): void {
    this.#peerFrameSize =
      maxDatagramFrameSize === 0 && this.#parts.settings.acceptUnannouncedDatagrams
        ? UNANNOUNCED_DATAGRAM_SIZE + datagramHeaderSize(UNANNOUNCED_DATAGRAM_SIZE)
        : maxDatagramFrameSize;
    this.#applyToDatagrams();
  }

  /** Applies a change. Must be called when the active path or its MTU may have changed. */
  update(now: number): void {
    const { current } = this.#parts.paths.active.mtu;
    if (current === this.current) return;
    this.current = current;
    this.#parts.loss.control.onMtu(current);
    this.#applyToDatagrams();
    this.#parts.telemetry.trace({ kind: 'mtu', bytes: current }, now);
  }

  #applyToDatagrams(): void {
    const header = 1 + this.#parts.peerIds.current.length + MAX_PACKET_NUMBER_SIZE;
    this.#parts.datagrams.setLimits(this.#peerFrameSize, this.current - header - TAG_SIZE);
  }
}

/** Connection migration (RFC 9000 §9): updates ids, loss recovery and datagram size when the active path changes. */
export class PathChanges {
  readonly #parts: ConnectionParts;
  readonly #size: DatagramSize;

  constructor(parts: ConnectionParts, size: DatagramSize) {
    this.#parts = parts;
    this.#size = size;
  }

  /** Migrates to another address of the peer (§9.3). */
  moveTo(path: Path, now: number): void {
    const { paths } = this.#parts;
    const former = paths.active;
    if (paths.moveTo(path, this.#parts.loss.probeTimeout(), now)) this.#moved(former, now);
  }

  onTimeout(now: number): void {
    const { paths } = this.#parts;
    const former = paths.active;
    const outcome = paths.onTimeout(now);
    if (outcome === undefined) return;
    this.#parts.telemetry.trace({ kind: 'path', change: 'failed' }, now);
    if (outcome === 'moved') this.#moved(former, now);
    else {
      // There is no validated address left (§9.3.2).
      const code = TransportErrorCode.NO_VIABLE_PATH;
      const reason = 'the peer does not respond at its new address';
      this.#parts.closing.end({ kind: 'transport', by: 'self', code, reason }, now);
    }
  }

  /** Retires the ids of removed paths, and of former paths whose validation has ended (§9.5). */
  retireIds(): void {
    const { peerIds } = this.#parts;
    if (!peerIds.hasOthers) return;
    peerIds.retireUnused((id, isLeft) => {
      const path = this.#parts.paths.all.find((one) => one === id);
      return path !== undefined && (!isLeft || path.isValidating);
    });
  }

  #moved(former: Path, now: number): void {
    const { paths } = this.#parts;
    // A different id, so that the paths cannot be linked (§9.5); if the peer has issued no other, it stays the same.
    this.#parts.peerIds.use(paths.active, former);
    this.retireIds();
    this.#parts.loss.usePath(paths.active.control, paths.active.mtu, now);
    this.#size.update(now);
    this.#parts.telemetry.trace({ kind: 'path', change: 'moved' }, now);
  }
}
