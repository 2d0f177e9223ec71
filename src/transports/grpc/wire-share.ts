import type { WireCounter } from '../../net/link.ts';

/** What one tunnel has moved itself. */
export interface TunnelBytes {
  readonly received: number;
  readonly sent: number;
}

interface Direction {
  /** Bytes of the connection that tunnels have been given as overhead so far. */
  given: number;
}

/**
 * Splits the wire bytes of a connection among the tunnels on it: each has its own bytes, and of what
 * the connection moved besides (frame headers, TLS, settings) a share by how much it moved since
 * the last time anyone looked. So the counters of all tunnels add up to those of the socket, as far
 * as there was a tunnel to bear them, and none of them ever falls.
 */
export class WireShare {
  readonly #wire: WireCounter;
  readonly #tunnels = new Set<Share>();
  readonly #read: Direction = { given: 0 };
  readonly #written: Direction = { given: 0 };
  /** Bytes of tunnels that have left. */
  #leftReceived = 0;
  #leftSent = 0;

  constructor(wire: WireCounter) {
    this.#wire = wire;
  }

  /** Adds a tunnel; its counter stands still once `leave` was called. */
  join(bytes: TunnelBytes): WireCounter & { leave(): void } {
    const share = new Share(bytes, this.#settle, () => {
      this.#settle();
      this.#tunnels.delete(share);
      this.#leftReceived += bytes.received;
      this.#leftSent += bytes.sent;
    });
    this.#tunnels.add(share);
    return share;
  }

  readonly #settle = (): void => {
    const tunnels = [...this.#tunnels];
    const sum = (of: (share: Share) => number): number =>
      tunnels.reduce((total, share) => total + of(share), 0);
    const received = this.#leftReceived + sum(({ bytes }) => bytes.received);
    const sent = this.#leftSent + sum(({ bytes }) => bytes.sent);
    spread(
      this.#wire.bytesRead - received - this.#read.given,
      this.#read,
      tunnels.map(({ read, bytes }) => ({ account: read, total: bytes.received })),
    );
    spread(
      this.#wire.bytesWritten - sent - this.#written.given,
      this.#written,
      tunnels.map(({ written, bytes }) => ({ account: written, total: bytes.sent })),
    );
  };
}

/** The overhead of one direction that a tunnel bears. */
interface Account {
  overhead: number;
  /** How much the tunnel had moved when overhead was last spread. */
  seen: number;
}

class Share implements WireCounter {
  readonly bytes: TunnelBytes;
  readonly read: Account = { overhead: 0, seen: 0 };
  readonly written: Account = { overhead: 0, seen: 0 };
  readonly #settle: () => void;
  readonly #onLeave: () => void;
  #final: { readonly read: number; readonly written: number } | undefined;

  constructor(bytes: TunnelBytes, settle: () => void, onLeave: () => void) {
    this.bytes = bytes;
    this.#settle = settle;
    this.#onLeave = onLeave;
  }

  get bytesRead(): number {
    if (this.#final) return this.#final.read;
    this.#settle();
    return this.bytes.received + this.read.overhead;
  }

  get bytesWritten(): number {
    if (this.#final) return this.#final.written;
    this.#settle();
    return this.bytes.sent + this.written.overhead;
  }

  leave(): void {
    if (this.#final) return;
    this.#onLeave();
    this.#final = {
      read: this.bytes.received + this.read.overhead,
      written: this.bytes.sent + this.written.overhead,
    };
  }
}

/** Below zero: payload that was written and is not on the wire yet; nothing to give out then. */
function spread(
  overhead: number,
  direction: Direction,
  tunnels: readonly { readonly account: Account; readonly total: number }[],
): void {
  if (overhead <= 0) return;
  const moved = tunnels.reduce((sum, { account, total }) => sum + total - account.seen, 0);
  if (moved <= 0) return;
  let left = overhead;
  for (const { account, total } of tunnels) {
    const part = Math.min(left, Math.ceil((overhead * (total - account.seen)) / moved));
    account.overhead += part;
    account.seen = total;
    left -= part;
  }
  direction.given += overhead - left;
}
