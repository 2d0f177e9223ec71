/** Bounds of an endpoint, each with the effect of exceeding it. */

/**
 * Bytes of the connection ids that this endpoint issues. They are random: they reveal nothing,
 * and ids of one connection have nothing in common (RFC 9000 §5.1).
 */
export const LOCAL_ID_SIZE = 8;

/** The smallest datagram with an Initial packet of a client, in bytes; smaller ones are dropped (§14.1). */
export const MIN_INITIAL_DATAGRAM = 1200;

/** The shortest destination id that a client may choose, in bytes; shorter ones are dropped (§7.2). */
export const MIN_CLIENT_CHOSEN_ID = 8;

/**
 * Handshakes of clients whose address no token has validated: their number, and their largest share of all connections.
 * Beyond either, a client gets a Retry packet and returns with its token (§8.1.2).
 */
export const MAX_UNVALIDATED_HANDSHAKES = 64;
export const UNVALIDATED_PART = 1 / 4;

/**
 * Tokens of NEW_TOKEN that are remembered as used, so that each validates an address once (§8.1.4).
 * Beyond this number the oldest are forgotten, and could be reused within their hour, from the same address.
 */
export const MAX_USED_TOKENS = 16_384;

/**
 * Unauthenticated clients: handshakes in progress, and connections whose client has not authenticated itself; in total,
 * and of one source. Beyond either, another one is closed, or the Initial packet is dropped; the client retransmits it.
 */
export const MAX_UNAUTHENTICATED = 1024;
export const MAX_UNAUTHENTICATED_OF_SOURCE = 256;

/**
 * Milliseconds for which an unauthenticated client cannot be replaced by one of a source that has as many:
 * the time of a handshake and an authentication over a slow path.
 */
export const UNAUTHENTICATED_STAY = 2000;

/**
 * Datagrams of clients' handshakes that are served in one turn of the event loop, and milliseconds after which no
 * further one is begun: a new client costs some milliseconds with an RSA certificate, a Retry packet 50 µs. Later
 * datagrams wait for the next turn.
 */
export const HANDSHAKE_DATAGRAMS_A_TURN = 64;
export const HANDSHAKE_MS_A_TURN = 5;

/** Datagrams in the handshake queue, and their bytes. Beyond either they are dropped; clients retransmit. */
export const MAX_WAITING_DATAGRAMS = 512;
export const MAX_WAITING_BYTES = 1024 * 1024;

/**
 * Stateless resets per second to all peers together. Beyond this rate packets for unknown connections are dropped; a
 * peer whose connection is gone sends another one.
 */
export const RESETS_A_SECOND = 100;

/** The largest stateless reset, in bytes: more bytes would not make it harder to recognize. */
export const MAX_RESET_SIZE = 43;

/**
 * Connections that have ended and still respond to late packets with CONNECTION_CLOSE (§10.2). Beyond this number the
 * oldest one is released early; its peer then gets a stateless reset.
 */
export const MAX_CLOSING_CONNECTIONS = 1024;

/**
 * Connections to one address and port for which a datagram with an unknown id is checked for a stateless
 * reset. A client's port rarely has more than one connection.
 */
export const MAX_RESET_CANDIDATES = 16;

/**
 * Events of all connections of an endpoint that are handled in one turn of the event loop. Each may end a flow, and
 * some packets reset thousands of streams.
 */
export const EVENTS_A_TURN = 512;

/** Bytes that an endpoint sends in one turn of the event loop; the rest is sent in the next turn. */
export const SENT_BYTES_A_TURN = 512 * 1024;

/** The requested size of the kernel's receive and send buffers, in bytes; its own limits apply. */
export const SOCKET_BUFFER = 4 * 1024 * 1024;

/** Milliseconds for which a closed endpoint waits for room in its socket to send CONNECTION_CLOSE to all peers. */
export const CLOSE_TIMEOUT = 1000;
