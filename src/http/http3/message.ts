import type { HttpField } from '../fields/field.ts';

/** The header section of a request that passed every check of RFC 9114 §4.2 and §4.3.1. */
export interface Http3Request {
  readonly method: string;
  /** Empty for CONNECT, as is `path`. */
  readonly scheme: string;
  /** `:authority`, or else `host`. */
  readonly authority: string;
  /** With its query. */
  readonly path: string;
  /** Without the pseudo-header fields, in the order they arrived; text is latin1. */
  readonly fields: readonly HttpField[];
}

/** The header section of a final response. */
export interface Http3ResponseHead {
  readonly status: number;
  readonly fields: readonly HttpField[];
}

/** A response to send. */
export interface Http3Response extends Http3ResponseHead {
  /** Status of an interim response before it: 100 to 199, but not 101, which HTTP/3 does not have. */
  readonly interim?: number | undefined;
  /** Not sent with a response to HEAD, nor with 204 and 304. */
  readonly body: Uint8Array;
}
