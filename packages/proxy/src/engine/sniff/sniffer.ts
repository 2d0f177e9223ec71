import { normalizeDomain } from '@weir/io/addresses';

/**
 * The result for the first bytes of a stream: a name, no name, or that more bytes are needed (not `done`).
 */
export type Sniffed =
  | { readonly done: true; readonly domain: string | undefined }
  | { readonly done: false };

/** Finds a name in bytes as they arrive. */
export interface Sniffer {
  /**
   * Examines the bytes.
   * @param bytes all bytes since the start, including those of earlier calls
   */
  look(bytes: Uint8Array): Sniffed;
}

export const MORE: Sniffed = { done: false };
export const NO_NAME: Sniffed = { done: true, domain: undefined };

/**
 * Returns the domain name in bytes from a client, given as Latin-1 text, in the form of requested names: lower case,
 * ASCII, without the trailing dot. `undefined` for an IP address and for any other text that is not a name.
 */
export function domainName(text: string): string | undefined {
  return normalizeDomain(Buffer.from(text, 'latin1').toString('utf8'));
}
