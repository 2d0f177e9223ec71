import type { Fetch } from './contract.ts';
import { fetchDirectly } from './direct.ts';
import { createFetch } from './http-fetch.ts';
import { LinkDuplex } from '@weir/io/duplex';
import { openFlows, type FlowSource } from './open-flows.ts';

/** A client that fetches through one outbound, or directly. */
interface OpenedFetch extends AsyncDisposable {
  readonly fetch: Fetch;
  /** See `OpenedFlows`. */
  readonly notes: readonly string[];
}

/**
 * Opens a client: directly when no outbound is named, otherwise through the running Weir of `socket` or a short-lived
 * engine in this process: see `openFlows`. The outbound resolves the names of URLs.
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
