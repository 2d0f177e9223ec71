/*
 * Bounds of a connection itself. Those of streams, of loss recovery and of paths are in their folders.
 */

/** Bytes of UDP payload that every path takes, and that Initial packets are padded to (RFC 9000 §14.1). */
export const MIN_DATAGRAM = 1200;

/**
 * Bytes of UDP payload that are searched for at most: an Ethernet frame with IPv4. What the path does not
 * take, such as IPv6, the search finds out.
 */
export const MAX_DATAGRAM = 1472;

/** Bytes of UDP payload that are received: announced as max_udp_payload_size. */
export const MAX_RECEIVED_DATAGRAM = 65_527;

/** Milliseconds without a packet after which a connection ends, unless its settings say otherwise. */
export const IDLE_TIMEOUT = 30_000;
/** Milliseconds for a handshake as a whole; beyond, the connection ends as if it was idle. */
export const HANDSHAKE_TIMEOUT = 10_000;

/** Milliseconds that an ACK is held back at most: announced as max_ack_delay. */
export const MAX_ACK_DELAY = 25;

/**
 * Packets that arrive before their keys, and their bytes: kept for a round trip at the start of the
 * connection (RFC 9001 §5.7). Beyond it they are dropped, and the peer sends them again.
 */
export const MAX_EARLY_PACKETS = 8;
export const MAX_EARLY_BYTES = 12_000;

/** Frames of one packet that are not counted as work: more than packets of ordinary peers have. */
export const FREE_FRAMES_A_PACKET = 16;

/** Ranges of an ACK frame that cost as much as a frame. */
export const ACK_RANGES_A_FRAME = 8;

/**
 * Frames beyond those, that a peer may send in a turn of the event loop: one that is known, and one that has
 * to authenticate itself yet. Each takes 50 to 300 ns. Beyond it its packets are dropped until the next turn.
 */
export const MAX_WORK_A_TURN = 4096;
export const UNAUTHENTICATED_WORK_A_TURN = 512;

/** The same of all peers of an endpoint together, and what each of them may send once that is reached. */
export const WORK_OF_ALL_A_TURN = 32_768;
export const PRESSED_WORK_A_TURN = 256;

/** DATAGRAM frames of peers that announced none and send them yet: bytes of payload that they take. */
export const UNANNOUNCED_DATAGRAM_SIZE = 1200;

/** Bytes of the reason in CONNECTION_CLOSE, sent or received: it fits into every packet. */
export const MAX_REASON_BYTES = 512;

/** Packets received in the closing state for one CONNECTION_CLOSE, at first; it doubles (RFC 9000 §10.2.1). */
export const FIRST_CLOSE_INTERVAL = 1;
/** The most of it. */
export const MAX_CLOSE_INTERVAL = 1024;

/** Probe timeouts for which the closing and draining states last (§10.2). */
export const CLOSE_PROBE_TIMEOUTS = 3;

/** Bytes of a token of NEW_TOKEN that is passed on; longer ones are ignored. */
export const MAX_TOKEN_BYTES = 1024;
