import type { HttpField } from '../fields/field.ts';

/** The header section of a request that passed every check of RFC 9114 §4.2 and §4.3.1. */
export interface Http3Request {
  readonly method: string;
  /** The scheme; empty for CONNECT, as is `path`. */
  readonly scheme: string;
  /** The value of `:authority`, or else of `host`. */
  readonly authority: string;
  /** The path with its query. */
  readonly path: string;
  /** Fields other than pseudo-header fields, in order of arrival; text is latin1. */
  readonly fields: readonly HttpField[];
}

/** The header section of a final response. */
export interface Http3ResponseHead {
  readonly status: number;
  readonly fields: readonly HttpField[];
}

/** A response to send. */
export interface Http3Response extends Http3ResponseHead {
  /** The status of an interim response before the final one: 100 to 199, except 101, which HTTP/3 does not have. */
  readonly interim?: number | undefined;
  /** The body; not sent with a response to HEAD, nor with 204 and 304. */
  readonly body: Uint8Array;
}
