/**
 * What the first bytes of a stream tell: a name or that there is none (`done`), or that more bytes
 * are needed to say.
 */
export type Sniffed =
  | { readonly done: true; readonly domain: string | undefined }
  | { readonly done: false };

/** Looks for a name in bytes that come one after the other. */
export interface Sniffer {
  /** `bytes` are all that have come from the start on, those of earlier calls first. */
  look(bytes: Uint8Array): Sniffed;
}

export const MORE: Sniffed = { done: false };
export const NO_NAME: Sniffed = { done: true, domain: undefined };
