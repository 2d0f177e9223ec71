/** Limits of messages, for protocols without their own. Sizes in bytes. */

/** Start line and header section of one message; the response to more is 431. */
export const HEAD_LIMIT = 64 * 1024;

/** The same of an origin's response: what Chrome accepts; the client gets 502 for more. */
export const RESPONSE_HEAD_LIMIT = 256 * 1024;

/**
 * Memory of all unfinished heads of an inbound. Beyond it a head may still have LEAST_HEAD_BYTES; the response to
 * more is 431.
 */
export const MAX_ALL_HEAD_BYTES = 32 * 1024 * 1024;
export const LEAST_HEAD_BYTES = 8 * 1024;

/** Header lines of one message, as in nginx; the response to more is 431. */
export const FIELD_LINE_LIMIT = 1_000;

/** Header lines of an origin's response, as in curl: each cookie has its own. */
export const RESPONSE_FIELD_LINE_LIMIT = 5_000;

/** The line before a chunk: its size and extensions. */
export const CHUNK_LINE_LIMIT = 4096;

/** The trailer section of a chunked body. */
export const TRAILER_LIMIT = 16 * 1024;
