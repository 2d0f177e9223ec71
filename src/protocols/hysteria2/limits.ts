/* Limits of the reference program (core/internal/protocol). Sizes in bytes. */

/** The address of a TCP request or a UDP message; a longer one is a protocol error. */
export const ADDRESS_LIMIT = 2048;

/** The message of a TCP response; a longer one is a protocol error, and is truncated when sent. */
export const MESSAGE_LIMIT = 2048;

/** The padding of a TCP request or response; a longer one is a protocol error. */
export const PADDING_LIMIT = 4096;

/** Bytes that a reader of requests and responses must hold: their longest part. */
export const READER_LIMIT = PADDING_LIMIT;

/** The data of a UDP message, reassembled; either side drops a message with more. */
export const UDP_PAYLOAD_LIMIT = 4096;

/** Fragments of one UDP message, whose count is an octet; a message that needs more is dropped. */
export const FRAGMENT_LIMIT = 255;

/*
 * Limits of this implementation, besides those of the protocol. Times in milliseconds.
 */

/**
 * Streams of one connection, and of all connections of a listener, whose request is incomplete.
 * Each costs 4 KB, so that these are 36 MB. Beyond the limit the oldest stream of the connection
 * with the most is rejected; an honest client sends a request at once, and is delayed only by
 * packet loss.
 */
export const WAITING_REQUESTS_A_CONNECTION = 1024;
export const MOST_WAITING_REQUESTS = 8192;

/**
 * Streams that an authenticated client may have open beyond the listener's limit of circuits:
 * requests of HTTP/3, and streams above that limit, which are reset instead of kept waiting.
 */
export const STREAMS_BESIDE_CIRCUITS = 256;

/**
 * Streams that it may open beyond its circuits, in steps: a stream that was reset stays open until
 * the client has ended it as well, which a hostile client never does.
 */
export const STREAMS_AHEAD_OF_CIRCUITS = 2048;
export const STREAMS_STEP = 1024;

/**
 * UDP associations of one connection, and of all connections of a listener. Each has a socket, so
 * that these are a quarter of the descriptors that a process usually has; a client has one for each
 * of its sockets, and those of its DNS queries stay idle until `udp_idle_timeout`. Beyond the limit
 * an idle one is closed for the newest: of that connection, or of the account that has the most.
 */
export const ASSOCIATIONS_A_CONNECTION = 1024;
export const MOST_ASSOCIATIONS = 8192;

/** Received datagrams of one association that wait to be read. */
export const ASSOCIATION_QUEUE = 256;

/** A client sends a PING after this long without a packet, to keep NAT bindings. */
export const KEEP_ALIVE_MS = 10_000;

/** A connection ends after this long without a packet from the peer. */
export const IDLE_MS = 30_000;

/**
 * A request without even an acknowledgement for this long is repeated on a new connection: the
 * server of the old one is gone. Several probe timeouts of any usual path.
 */
export const SILENCE_MS = 3_000;

/**
 * A flow begins without the response to its request after this long, if the server acknowledges: it may send the
 * response with the destination's first data, which may wait for the client's.
 */
export const RESPONSE_MS = 1_000;

/**
 * Associations end when nothing at all was received for this long after one of their datagrams, so
 * that the next datagram begins another association on a new connection. Longer than a client needs
 * to change networks: peers see another port after an association that has ended too early.
 */
export const ASSOCIATION_SILENCE_MS = 8_000;

/** Connections of one outbound, one for each lineage of its flows. */
export const MOST_CONNECTIONS = 64;

/** max_datagram_frame_size: any DATAGRAM frame that fits into a packet (RFC 9221 §3). */
export const LONGEST_DATAGRAM_FRAME = 65_535;
