import { LinkClosedError } from '../errors.ts';
import { Shares, sourceGroup } from '../bounds/shares.ts';

/** A holder of descriptors for a client: an accepted connection, or the destination of a flow. */
export interface DescriptorHolder {
  /** Closes the descriptors. */
  evict(cause: Error): void;
}

/**
 * Number of descriptors by which the source that holds the most must exceed another source before one of its holders is
 * evicted: those of one flow, so that two sources of equal shares do not close each other's in turn.
 */
const MARGIN = 2;

/**
 * The descriptors that the clients of all inbounds hold, by source. Once no more can be opened, the newest holder of
 * the source with the most descriptors is evicted for others, since older ones are more likely in use. A source never
 * evicts its own, so nothing is closed where there is only one.
 */
export class DescriptorHolders {
  readonly #shares = new Shares<DescriptorHolder, string>();

  /** Number of holders of all sources. */
  get size(): number {
    return this.#shares.size;
  }

  /**
   * Adds a holder.
   * @param source the client's IP address; `undefined` on a unix socket.
   */
  add(holder: DescriptorHolder, source: string | undefined): void {
    this.#shares.add(holder, sourceGroup(source));
  }

  /** Removes a holder. Idempotent. */
  delete(holder: DescriptorHolder): void {
    this.#shares.delete(holder);
  }

  /** Evicts a holder of the source with the most; returns false when `source` itself has the most, or nearly. */
  makeRoom(source: string | undefined): boolean {
    const shares = this.#shares;
    if (shares.most <= shares.countOf(sourceGroup(source)) + MARGIN) return false;
    const newest = shares.heaviest?.newest;
    if (!newest) return false;
    shares.delete(newest);
    newest.evict(new LinkClosedError('too many open files: it gave way to another client'));
    return true;
  }
}

/** The holders of this process. */
export const descriptorHolders = new DescriptorHolders();
