import type { Outbound } from '../protocols/contract.ts';

/**
 * One version of an outbound. Reloads may build several versions of a tag, of which only the newest accepts new flows.
 * A retired version is closed after its last flow.
 */
export class OutboundVersion {
  readonly tag: string;
  readonly version: number;
  readonly outbound: Outbound;
  #users = 0;
  #retired = false;
  #closed = false;

  constructor(tag: string, version: number, outbound: Outbound) {
    this.tag = tag;
    this.version = version;
    this.outbound = outbound;
  }

  /** Number of flows and dials that hold the version. */
  get users(): number {
    return this.#users;
  }

  /** Whether no new flow may use the version. */
  get retired(): boolean {
    return this.#retired;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Keeps the version open until `release`. */
  hold(): void {
    this.#users++;
  }

  /** Ends one `hold`. */
  release(): void {
    this.#users--;
    this.#closeIfIdle();
  }

  /** Closes the version now, or with the last `release`; no new flow may use it. */
  retire(): void {
    this.#retired = true;
    this.#closeIfIdle();
  }

  #closeIfIdle(): void {
    if (!this.#retired || this.#users > 0 || this.#closed) return;
    this.#closed = true;
    this.outbound.close();
  }
}
