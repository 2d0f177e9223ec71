import type { IpEndpoint } from '../../ip/ip-endpoint.ts';
import type { DatagramSize } from './datagram-size.ts';
import { TransportErrorCode } from '../errors.ts';
import type { ConnectionParts } from '../connection/parts.ts';
import type { Path } from './path.ts';

/** Moves of a connection from path to path (RFC 9000 §9): what they mean to its other parts. */
export class PathChanges {
  readonly #parts: ConnectionParts;
  readonly #size: DatagramSize;

  constructor(parts: ConnectionParts, size: DatagramSize) {
    this.#parts = parts;
    this.#size = size;
  }

  /** The peer sends from another address now (§9.3). */
  moveTo(path: Path<IpEndpoint>, now: number): void {
    const { paths, loss } = this.#parts;
    const former = paths.active;
    if (paths.moveTo(path, loss.probeTimeout(), now)) this.#moved(former, now);
  }

  onTimeout(now: number): void {
    const { paths, closing, trace } = this.#parts;
    const former = paths.active;
    const outcome = paths.onTimeout(now);
    if (outcome === undefined) return;
    if (trace !== undefined) trace({ kind: 'path', change: 'failed' }, now);
    if (outcome === 'moved') this.#moved(former, now);
    else {
      // No address is known to be the peer's (§9.3.2).
      const code = TransportErrorCode.NO_VIABLE_PATH;
      const reason = 'the peer does not respond at its new address';
      closing.end({ kind: 'transport', by: 'self', code, reason }, now);
    }
  }

  /** Retires the ids of paths that are forgotten, or were left and are not validated any more (§9.5). */
  retireIds(): void {
    const { paths, peerIds } = this.#parts;
    if (!peerIds.hasOthers) return;
    peerIds.retireUnused((id, isLeft) => {
      const path = paths.all.find((one) => one === id);
      return path !== undefined && (!isLeft || path.isValidating);
    });
  }

  #moved(former: Path<IpEndpoint>, now: number): void {
    const { paths, loss, peerIds, trace } = this.#parts;
    // So that the two paths cannot be linked (§9.5); where the peer gave no other id, it stays.
    peerIds.use(paths.active, former);
    this.retireIds();
    loss.usePath(paths.active.control, paths.active.mtu, now);
    this.#size.update(now);
    if (trace !== undefined) trace({ kind: 'path', change: 'moved' }, now);
  }
}
