/*
 * Limits of this implementation, beside those of the protocol. Times in milliseconds.
 */

/**
 * A client that has not authenticated may stay for so long: as long as the reference keeps an idle
 * connection. Then it is closed as a web server closes a connection that it no longer serves.
 */
export const UNAUTHENTICATED_MS = 30_000;

/**
 * Connections that have not authenticated. Beyond it the oldest is closed for the newest, so that
 * a crowd that never authenticates does not keep out clients that do.
 */
export const MOST_UNAUTHENTICATED = 1024;

/**
 * Streams that an authenticated client may have open beyond the listener's limit of circuits: requests of
 * HTTP/3, and streams above that limit, which are then reset instead of left waiting.
 */
export const STREAMS_BESIDE_CIRCUITS = 256;

/** Datagrams of one association that wait for the engine, or for the engine's reader. */
export const ASSOCIATION_QUEUE = 256;

/** A client sends a PING after this long without a packet, which keeps paths through NATs open. */
export const KEEP_ALIVE_MS = 10_000;

/** A connection ends after this long without a packet of the peer. */
export const IDLE_MS = 30_000;

/**
 * A request to which not even an acknowledgement comes for this long is repeated on a new connection:
 * the server of the old one is gone. Several probe timeouts of any usual path.
 */
export const SILENCE_MS = 3_000;

/**
 * Associations end when nothing at all has come for this long after one of their datagrams, so that the
 * next one begins another on a new connection. Longer than a client needs to change networks: an
 * association that ends early appears to its peers with another port.
 */
export const ASSOCIATION_SILENCE_MS = 10_000;

/** Connections of one outbound, one for each lineage of its flows. */
export const MOST_CONNECTIONS = 64;

/** Announced to peers: bytes of a DATAGRAM frame that they may send. All that QUIC allows. */
export const LONGEST_DATAGRAM_FRAME = 65_535;
