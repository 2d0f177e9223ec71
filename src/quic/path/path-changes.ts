import type { Closing } from '../connection/closing.ts';
import type { PeerConnectionIds } from './connection-ids.ts';
import type { Paths } from './paths.ts';
import type { LossDetection } from '../recovery/loss-detection.ts';
import type { Telemetry } from '../connection/telemetry.ts';
import type { IpEndpoint } from '../../ip/ip-endpoint.ts';
import type { DatagramSize } from './datagram-size.ts';
import { TransportErrorCode } from '../errors.ts';
import type { Path } from './path.ts';

/** The parts of a connection that `PathChanges` uses. */
export interface PathChangesParts {
  readonly closing: Closing;
  readonly peerIds: PeerConnectionIds;
  readonly paths: Paths<IpEndpoint>;
  readonly loss: LossDetection;
  readonly telemetry: Telemetry;
}

/** Connection migration (RFC 9000 §9): updates ids, loss recovery and datagram size when the active path changes. */
export class PathChanges {
  readonly #closing: Closing;
  readonly #peerIds: PeerConnectionIds;
  readonly #paths: Paths<IpEndpoint>;
  readonly #loss: LossDetection;
  readonly #telemetry: Telemetry;
  readonly #size: DatagramSize;

  constructor(parts: PathChangesParts, size: DatagramSize) {
    this.#closing = parts.closing;
    this.#peerIds = parts.peerIds;
    this.#paths = parts.paths;
    this.#loss = parts.loss;
    this.#telemetry = parts.telemetry;
    this.#size = size;
  }

  /** Migrates to another address of the peer (§9.3). */
  moveTo(path: Path<IpEndpoint>, now: number): void {
    const former = this.#paths.active;
    if (this.#paths.moveTo(path, this.#loss.probeTimeout(), now)) this.#moved(former, now);
  }

  onTimeout(now: number): void {
    const former = this.#paths.active;
    const outcome = this.#paths.onTimeout(now);
    if (outcome === undefined) return;
    this.#telemetry.trace({ kind: 'path', change: 'failed' }, now);
    if (outcome === 'moved') this.#moved(former, now);
    else {
      // There is no validated address left (§9.3.2).
      const code = TransportErrorCode.NO_VIABLE_PATH;
      const reason = 'the peer does not respond at its new address';
      this.#closing.end({ kind: 'transport', by: 'self', code, reason }, now);
    }
  }

  /** Retires the ids of removed paths, and of former paths whose validation has ended (§9.5). */
  retireIds(): void {
    if (!this.#peerIds.hasOthers) return;
    this.#peerIds.retireUnused((id, isLeft) => {
      const path = this.#paths.all.find((one) => one === id);
      return path !== undefined && (!isLeft || path.isValidating);
    });
  }

  #moved(former: Path<IpEndpoint>, now: number): void {
    // A different id, so that the paths cannot be linked (§9.5); if the peer has issued no other, it stays the same.
    this.#peerIds.use(this.#paths.active, former);
    this.retireIds();
    this.#loss.usePath(this.#paths.active.control, this.#paths.active.mtu, now);
    this.#size.update(now);
    this.#telemetry.trace({ kind: 'path', change: 'moved' }, now);
  }
}
