/* Limits of the reference program (core/internal/protocol). Sizes in bytes. */

/** Length of the address of a TCP request or a UDP message; a longer one is a protocol error. */
export const ADDRESS_LIMIT = 2048;

/** Length of the message of a TCP response; a longer one is a protocol error, and is truncated when sent. */
export const MESSAGE_LIMIT = 2048;

/** Length of the padding of a TCP request or response; a longer one is a protocol error. */
export const PADDING_LIMIT = 4096;

/** Bytes that a reader of requests and responses must buffer: their longest part. */
export const READER_LIMIT = PADDING_LIMIT;

/** Length of the data of a UDP message, reassembled; either side drops a longer message. */
export const UDP_PAYLOAD_LIMIT = 4096;

/** Fragments of one UDP message, whose count is one octet; a message that needs more is dropped. */
export const FRAGMENT_LIMIT = 255;

/*
 * Limits of this implementation, besides those of the protocol. Times in milliseconds.
 */

/**
 * Streams of one connection, and of all connections of a listener, whose request is incomplete. Each costs 4 KB, 36 MB
 * in total. Beyond either limit the oldest stream of the connection with the most is rejected; an ordinary client sends
 * a request at once, and is delayed only by packet loss.
 */
export const WAITING_REQUESTS_A_CONNECTION = 1024;
export const MOST_WAITING_REQUESTS = 8192;

/**
 * Streams that an authenticated client may have open beyond the listener's limit of circuits:
 * requests of HTTP/3, and streams above that limit, which are reset rather than queued.
 */
export const STREAMS_BESIDE_CIRCUITS = 256;

/**
 * Streams that an authenticated client may open beyond its circuits, in steps: a stream that was reset stays open until
 * the client has ended it as well, which a hostile client never does.
 */
export const STREAMS_AHEAD_OF_CIRCUITS = 2048;
export const STREAMS_STEP = 1024;

/**
 * UDP associations of one connection, and of all connections of a listener. Each has a socket, in total a quarter of
 * the usual number of descriptors of a process; a client has one association for each of its sockets, and those of DNS
 * queries stay idle until `udp_idle_timeout`. Beyond a limit an idle association is closed for the newest: one of that
 * connection, or of the account that has the most.
 */
export const ASSOCIATIONS_A_CONNECTION = 1024;
export const MOST_ASSOCIATIONS = 8192;

/**
 * Sessions of one connection that have begun and wait for their turn of the event loop (`turnToResume`). The datagrams
 * of further ones are dropped, so that a client that begins sessions without end cannot make those of others wait.
 */
export const MOST_WAITING_SESSIONS = 256;

/** Received datagrams of one association that are queued for reading. */
export const ASSOCIATION_QUEUE = 256;

/** Time without a packet after which a client sends a PING, to keep NAT bindings. */
export const KEEP_ALIVE_MS = 10_000;

/** Time without a packet from the peer after which a connection ends. */
export const IDLE_MS = 30_000;

/**
 * Time without even an acknowledgement after which a request is repeated on a new connection: the server of the old one
 * is gone. Several probe timeouts of any usual path.
 */
export const SILENCE_MS = 3_000;

/**
 * Time after which a flow begins without the response to its request, if the server acknowledges: the server may send
 * the response with the destination's first data, which may wait for the client's.
 */
export const RESPONSE_MS = 1_000;

/**
 * Time without a received byte after one of its datagrams after which an association ends, so that the next datagram
 * begins another one on a new connection. Longer than a client needs to change networks: ending an association too
 * early changes the port that peers see.
 */
export const ASSOCIATION_SILENCE_MS = 8_000;

/** Connections of one outbound, one for each chain of its flows. */
export const MOST_CONNECTIONS = 64;

/** max_datagram_frame_size: any DATAGRAM frame that fits into a packet (RFC 9221 §3). */
export const LONGEST_DATAGRAM_FRAME = 65_535;
