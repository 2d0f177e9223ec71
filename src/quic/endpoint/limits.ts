/*
 * Bounds of an endpoint, each with what happens when it is reached.
 */

/**
 * Bytes of the connection ids that are issued here. They are random: nothing can be learned from them,
 * and ids of one connection have nothing in common (RFC 9000 §5.1).
 */
export const LOCAL_ID_SIZE = 8;

/** Bytes of a datagram that an Initial packet of a client is in; smaller ones are dropped (§14.1). */
export const MIN_INITIAL_DATAGRAM = 1200;

/** Bytes of the destination id that a client makes up; Initial packets to shorter ones are dropped (§7.2). */
export const MIN_CLIENT_CHOSEN_ID = 8;

/**
 * Handshakes of clients whose address no token has validated, and the part of all connections that they may
 * be at most. Beyond either a client gets a Retry packet, and comes again with its token (§8.1.2).
 */
export const MAX_UNVALIDATED_HANDSHAKES = 64;
export const UNVALIDATED_PART = 1 / 4;

/**
 * Tokens of NEW_TOKEN that are remembered as used, so that each validates an address once (§8.1.4).
 * Beyond it the oldest are forgotten, and might be used again within their hour, from the same address.
 */
export const MAX_USED_TOKENS = 16_384;

/**
 * Clients that are not known yet: handshakes under way, and connections whose client has not authenticated.
 * Of all of them, and of one source. Beyond it another one gives way, or the Initial packet is dropped; the
 * client sends it again.
 */
export const MAX_UNAUTHENTICATED = 1024;
export const MAX_UNAUTHENTICATED_OF_SOURCE = 256;

/**
 * Milliseconds for which a client that is not known keeps its place against one of a source that has as
 * many: a handshake and an authentication over a slow path.
 */
export const UNAUTHENTICATED_STAY = 2000;

/**
 * Datagrams of clients' handshakes that are served in one turn of the event loop, and milliseconds after
 * which no further one is begun: a new client costs some milliseconds with an RSA certificate, a Retry
 * packet 50 µs. The rest waits for the next turn.
 */
export const HANDSHAKE_DATAGRAMS_A_TURN = 64;
export const HANDSHAKE_MS_A_TURN = 5;

/** Such datagrams that wait, and their bytes. Beyond it they are dropped; a client sends them again. */
export const MAX_WAITING_DATAGRAMS = 512;
export const MAX_WAITING_BYTES = 1024 * 1024;

/**
 * Stateless resets a second, all peers together. Beyond it packets for unknown connections are dropped;
 * a peer whose connection is really gone sends another.
 */
export const RESETS_A_SECOND = 100;

/** Bytes of a stateless reset at most: beyond it nothing is gained by hiding what it is. */
export const MAX_RESET_SIZE = 43;

/**
 * Connections that have ended and still respond to stray packets with CONNECTION_CLOSE (§10.2). Beyond
 * it the oldest one is forgotten early; its peer would get a stateless reset.
 */
export const MAX_CLOSING_CONNECTIONS = 1024;

/**
 * Connections to one address and port that are asked whether a datagram for none of them is a stateless
 * reset. A server has as many as a client's port has made; there is rarely a second one.
 */
export const MAX_RESET_CANDIDATES = 16;

/** Bytes that an endpoint sends in one turn of the event loop; the next turn goes on with the rest. */
export const SENT_BYTES_A_TURN = 512 * 1024;

/** Bytes that the kernel is asked to hold of what is received and sent; its own limits apply. */
export const SOCKET_BUFFER = 4 * 1024 * 1024;

/** Milliseconds for which a closed endpoint waits for room in its socket, to say goodbye to all peers. */
export const CLOSE_TIMEOUT = 1000;

/**
 * Milliseconds for which a stream that was released after its half-close goes on sending what was
 * written. Then it is reset: a peer that takes nothing must not keep it.
 */
export const STREAM_LINGER = 30_000;
