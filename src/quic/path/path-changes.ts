import type { IpEndpoint } from '../../ip/ip-endpoint.ts';
import type { DatagramSize } from './datagram-size.ts';
import { TransportErrorCode } from '../errors.ts';
import type { ConnectionParts } from '../connection/parts.ts';
import type { Path } from './path.ts';

/** Connection migration (RFC 9000 §9): updates ids, loss recovery and datagram size when the active path changes. */
export class PathChanges {
  readonly #parts: ConnectionParts;
  readonly #size: DatagramSize;

  constructor(parts: ConnectionParts, size: DatagramSize) {
    this.#parts = parts;
    this.#size = size;
  }

  /** The peer has migrated to another address (§9.3). */
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
      // There is no validated address left (§9.3.2).
      const code = TransportErrorCode.NO_VIABLE_PATH;
      const reason = 'the peer does not respond at its new address';
      closing.end({ kind: 'transport', by: 'self', code, reason }, now);
    }
  }

  /** Retires the ids of removed paths, and of former paths whose validation has ended (§9.5). */
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
    // Another id, so that the paths cannot be linked (§9.5); if the peer has issued no other, it stays the same.
    peerIds.use(paths.active, former);
    this.retireIds();
    loss.usePath(paths.active.control, paths.active.mtu, now);
    this.#size.update(now);
    if (trace !== undefined) trace({ kind: 'path', change: 'moved' }, now);
  }
}
