import type { Fetch } from './contract.ts';
import { fetchDirectly } from './direct.ts';
import { createFetch } from './http-fetch.ts';
import { LinkDuplex } from './link-duplex.ts';
import { openFlows, type FlowSource } from './open-flows.ts';

/** Fetches by one outbound, or directly. */
export interface OpenedFetch extends AsyncDisposable {
  readonly fetch: Fetch;
  /** See `OpenedFlows`. */
  readonly notes: readonly string[];
}

/**
 * Opens a client: directly when no outbound is named, otherwise through the running Weir of `socket` or by an own
 * short-lived engine: see `openFlows`. Names of URLs are resolved as the outbound does it.
 *
 * @param source its `socket` is the path that `findSocket` has found
 * @throws {WeirError} see `openFlows`
 */
export async function openFetch({
  outbound,
  ...source
}: FlowSource & { readonly outbound?: string | undefined }): Promise<OpenedFetch> {
  if (outbound === undefined) {
    return { fetch: fetchDirectly, notes: [], [Symbol.asyncDispose]: () => Promise.resolve() };
  }
  const opened = await openFlows(source, () => [outbound]);
  return {
    fetch: createFetch(async (target, signal) => {
      const { link } = await opened.flows.open(outbound, target, signal);
      return new LinkDuplex(link);
    }),
    notes: opened.notes,
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  };
}
