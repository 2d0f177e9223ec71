/*
 * Bounds of a connection itself. Those of streams, of loss recovery and of paths are in their folders.
 */

/**
 * The UDP payload in bytes that every path supports, and to which datagrams with Initial packets are padded (RFC 9000
 * §14.1).
 */
export const MIN_DATAGRAM = 1200;

/**
 * The largest UDP payload that path MTU discovery searches for, in bytes: an Ethernet frame with IPv4. The search finds
 * smaller limits, such as with IPv6.
 */
export const MAX_DATAGRAM = 1472;

/** The largest UDP payload that is received, in bytes: announced as max_udp_payload_size. */
export const MAX_RECEIVED_DATAGRAM = 65_527;

/** Milliseconds without a packet after which a connection ends, unless its settings say otherwise. */
export const IDLE_TIMEOUT = 30_000;
/** The time limit of a handshake, in milliseconds; beyond it the connection ends like an idle one. */
export const HANDSHAKE_TIMEOUT = 10_000;

/** The largest delay of an ACK in milliseconds: announced as max_ack_delay. */
export const MAX_ACK_DELAY = 25;

/**
 * Packets that arrived before their keys, and their bytes: kept for a round trip at the start of the
 * connection (RFC 9001 §5.7). Beyond either they are dropped, and the peer retransmits them.
 */
export const MAX_EARLY_PACKETS = 8;
export const MAX_EARLY_BYTES = 12_000;

/** Frames of one packet that are not counted as work: more than ordinary peers send. */
export const FREE_FRAMES_A_PACKET = 16;

/** Ranges of an ACK frame that cost as much as a frame. */
export const ACK_RANGES_A_FRAME = 8;

/**
 * Frames beyond `FREE_FRAMES_A_PACKET` that a peer may send in a turn of the event loop: after authentication,
 * and before. Each takes 50 to 300 ns. Beyond that its packets are dropped until the next turn.
 */
export const MAX_WORK_A_TURN = 4096;
export const UNAUTHENTICATED_WORK_A_TURN = 512;

/**
 * Frames that all peers of an endpoint together may send in a turn, and those that each of them may still send once
 * that number is reached.
 */
export const WORK_OF_ALL_A_TURN = 32_768;
export const PRESSED_WORK_A_TURN = 256;

/** The largest DATAGRAM payload for peers that use DATAGRAM frames without announcing them, in bytes. */
export const UNANNOUNCED_DATAGRAM_SIZE = 1200;

/** Bytes of the reason in CONNECTION_CLOSE, sent or received: it fits into every packet. */
export const MAX_REASON_BYTES = 512;

/**
 * Packets received in the closing state per CONNECTION_CLOSE sent: the initial value, which doubles (RFC 9000 §10.2.1).
 */
export const FIRST_CLOSE_INTERVAL = 1;
/** The upper bound of packets received per CONNECTION_CLOSE sent. */
export const MAX_CLOSE_INTERVAL = 1024;

/** Probe timeouts for which the closing and draining states last (§10.2). */
export const CLOSE_PROBE_TIMEOUTS = 3;

/** The longest token of NEW_TOKEN that is passed on, in bytes; longer ones are ignored. */
export const MAX_TOKEN_BYTES = 1024;

/**
 * Milliseconds without progress after which a stream that was released after its half-close is reset, although
 * bytes are unsent: a peer that reads nothing must not keep it alive.
 */
export const STREAM_LINGER = 30_000;
