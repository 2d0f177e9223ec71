import type { Outbound } from '../protocols/contract.ts';

/**
 * One built outbound: a tag may have several versions over the life of the process, of which only
 * the newest takes new flows. A retired version is closed when its last flow has ended.
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

  /** Flows and dials that hold it. */
  get users(): number {
    return this.#users;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Holds the version open until `release` is called. */
  hold(): void {
    this.#users++;
  }

  /** Ends one hold. */
  release(): void {
    this.#users--;
    this.#closeIfIdle();
  }

  /** No new flow will use it: closes now, or with the last user. */
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
