import { normalizeDomain } from '../../net/addresses/host-name.ts';

/**
 * The result for the first bytes of a stream: a name or none (`done`), or that more bytes are needed.
 */
export type Sniffed =
  | { readonly done: true; readonly domain: string | undefined }
  | { readonly done: false };

/** Looks for a name in bytes as they arrive. */
export interface Sniffer {
  /** `bytes` are all that have come from the start on, those of earlier calls first. */
  look(bytes: Uint8Array): Sniffed;
}

export const MORE: Sniffed = { done: false };
export const NO_NAME: Sniffed = { done: true, domain: undefined };

/**
 * The domain name in the bytes that a client sent, given as Latin-1 text: lower case, ASCII, without
 * the dot of the root, as for requested names. `undefined` for IP addresses and for whatever else is
 * not a name.
 */
export function domainName(text: string): string | undefined {
  return normalizeDomain(Buffer.from(text, 'latin1').toString('utf8'));
}
