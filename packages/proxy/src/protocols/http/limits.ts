/**
 * Bounds of the data that a peer can make this protocol buffer, and of its waits. Sizes in bytes, times in
 * milliseconds.
 */

/** Time for which a client connection may be idle between two requests. */
export const CLIENT_IDLE_MS = 60_000;

/**
 * Length up to which a body that is not forwarded is read and discarded, so that the connection
 * stays usable after a 407 or a 502; after a longer one the connection is closed.
 */
export const DRAIN_LIMIT = 256 * 1024;
export const DRAIN_MS = 10_000;

/** Time for which a closing client connection is still read, so that no reset discards the response (RFC 9112 §9.6). */
export const RESPONSE_LINGER_MS = 5_000;

/** Time for an origin to close its side of a link that is no longer needed. */
export const RETIRE_MS = 2_000;

/**
 * Interim responses (1xx) to one request that an origin may send at once, and further ones per second: a server that
 * reports its progress (102) for hours stays below both; beyond them the client gets a 502.
 */
export const INTERIM_BURST = 100;
export const INTERIM_RATE = 1;

/**
 * Requests that all connections of an inbound may begin in one turn of the event loop: a client without a
 * password can pipeline thousands in one read, and the rejection of each takes 10 to 20 µs.
 */
export const REQUESTS_A_TURN = 64;

/**
 * Requests of one connection that are rejected with 407 in a row; the response to the last one ends the connection.
 * Browsers ask their user after the first 407, and repeat the request with a password.
 */
export const UNAUTHENTICATED_REQUESTS = 16;
