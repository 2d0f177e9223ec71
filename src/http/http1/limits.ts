/** Limits of a message head, for protocols without their own. */

/** Start line and header section of one message; the response to more is 431. */
export const HEAD_LIMIT = 64 * 1024;

/** Header lines of one message; the response to more is 431. */
export const FIELD_LIMIT = 200;

/** Interim responses (1xx) that a server may send before the final one. */
export const INTERIM_LIMIT = 16;
