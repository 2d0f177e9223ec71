/* Limits of the reference program (core/internal/protocol). Sizes in bytes. */

/** The address of a TCP request or a UDP message; a longer one is a protocol error. */
export const ADDRESS_LIMIT = 2048;

/** The message of a TCP response: a longer one is a protocol error, and is cut before it is sent. */
export const MESSAGE_LIMIT = 2048;

/** The padding of a TCP request or response; a longer one is a protocol error. */
export const PADDING_LIMIT = 4096;

/** What a reader of requests and responses holds: their longest part. */
export const READER_LIMIT = PADDING_LIMIT;

/** The data of a UDP message, its fragments joined; one with more is dropped by either side. */
export const UDP_PAYLOAD_LIMIT = 4096;

/** Fragments of one UDP message, whose count is an octet; one that needs more is dropped. */
export const FRAGMENT_LIMIT = 255;

/*
 * Limits of this implementation, beside those of the protocol. Times in milliseconds.
 */

/**
 * Streams of one connection, and of all connections of a listener, whose request has not arrived whole.
 * Each costs 4 KB, so that these are 36 MB. Beyond it the oldest one of the connection that has the most is
 * rejected; an honest client sends a request at once, and is late only by what gets lost.
 */
export const WAITING_REQUESTS_A_CONNECTION = 1024;
export const MOST_WAITING_REQUESTS = 8192;

/**
 * Streams that an authenticated client may have open beyond the listener's limit of circuits: requests of
 * HTTP/3, and streams above that limit, which are then reset instead of left waiting.
 */
export const STREAMS_BESIDE_CIRCUITS = 256;

/**
 * Streams that it may open beyond the circuits that it has, in steps: one that was reset is open until the
 * client has ended it as well, which a hostile one never does.
 */
export const STREAMS_AHEAD_OF_CIRCUITS = 2048;
export const STREAMS_STEP = 1024;

/**
 * UDP associations of one connection, and of all connections of a listener. Each has a socket, so that these
 * are a quarter of the descriptors that a process usually has; a client has one for each of its sockets, and
 * those of its DNS queries rest until `udp_idle_timeout`. Beyond it one that rests is closed for the newest:
 * of that connection, or of the account that has the most.
 */
export const ASSOCIATIONS_A_CONNECTION = 1024;
export const MOST_ASSOCIATIONS = 8192;

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
