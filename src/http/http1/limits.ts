/** Size limits of messages, in bytes unless noted otherwise, for protocols without their own limits. */

/** Limit of the start line and header section of a message; larger ones are answered with 431. */
export const HEAD_LIMIT = 64 * 1024;

/**
 * Limit of the start line and header section of an origin's response, as in Chrome; for larger ones the client gets
 * 502.
 */
export const RESPONSE_HEAD_LIMIT = 256 * 1024;

/**
 * Limit of the memory of all unfinished heads of an inbound. Beyond it a head may still use LEAST_HEAD_BYTES; larger
 * ones are answered with 431.
 */
export const MAX_ALL_HEAD_BYTES = 32 * 1024 * 1024;
export const LEAST_HEAD_BYTES = 8 * 1024;

/** Limit of header lines of a message, as in nginx; more are answered with 431. */
export const FIELD_LINE_LIMIT = 1_000;

/** Limit of header lines of an origin's response, as in curl: each cookie has its own line. */
export const RESPONSE_FIELD_LINE_LIMIT = 5_000;

/** Limit of the line before a chunk, with its size and extensions. */
export const CHUNK_LINE_LIMIT = 4096;

/** Limit of the trailer section of a chunked body. */
export const TRAILER_LIMIT = 16 * 1024;
