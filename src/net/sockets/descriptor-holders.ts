import { LinkClosedError } from '../errors.ts';
import { Shares } from '../bounds/shares.ts';
import { sourceGroup } from '../bounds/source-group.ts';

/** What holds descriptors for a client: an accepted connection, or the destination of a flow. */
export interface DescriptorHolder {
  /** Closes them. */
  giveWay(cause: Error): void;
}

/**
 * By how many descriptors the source that has the most must exceed another one before it gives way: those of
 * one flow, so that two sources of equal shares do not take turns in closing each other's.
 */
const MARGIN = 2;

/**
 * The descriptors that the clients of all inbounds hold, by source. Once no more can be opened, the source that
 * holds the most gives way to others: its newest one is closed, since what was there before it is likelier in
 * use. A source has no claim against itself, so that nothing is closed where there is only one.
 */
export class DescriptorHolders {
  readonly #shares = new Shares<DescriptorHolder, string>();

  /** Holders of all sources. */
  get size(): number {
    return this.#shares.size;
  }

  /** @param source the client's IP address; `undefined` on a unix socket. */
  add(holder: DescriptorHolder, source: string | undefined): void {
    this.#shares.add(holder, sourceGroup(source));
  }

  /** Idempotent. */
  delete(holder: DescriptorHolder): void {
    this.#shares.delete(holder);
  }

  /** Closes what another source holds in excess; false when `source` itself has the most, or nearly. */
  makeRoom(source: string | undefined): boolean {
    const shares = this.#shares;
    if (shares.most <= shares.countOf(sourceGroup(source)) + MARGIN) return false;
    const newest = shares.heaviest?.newest;
    if (!newest) return false;
    shares.delete(newest);
    newest.giveWay(new LinkClosedError('too many open files: it gave way to another client'));
    return true;
  }
}

/** Those of this process. */
export const descriptorHolders = new DescriptorHolders();
