/*
 * Bounds of a tunnel that the protocol leaves to the implementation, each with what happens when it is
 * reached. Times are in milliseconds. Those of whitepaper §6 are in `deadlines.ts`.
 */

/** For so long the secret of cookies, and a cookie that was received, are used (§5.4.7: two minutes). */
export const COOKIE_SECRET_TIME = 120_000;

/** Packets that may arrive late, counted back from the newest; older ones are dropped. */
export const REPLAY_WINDOW = 8192;

/**
 * Packets that wait for a handshake, and their bytes; beyond it the oldest is dropped, as on a path that is
 * full. A thousand connections may begin at once.
 */
export const MAX_WAITING_PACKETS = 1024;
export const MAX_WAITING_PACKET_BYTES = 1024 * 1024;

/**
 * Handshake messages with a valid `mac1` that are handled in a second, some 0.2 ms of work each. Beyond it
 * a sender gets a cookie reply, and is to show its address first.
 */
export const HANDSHAKES_A_SECOND = 50;
/** Then those of each address that was shown in this way. Beyond it they are dropped. */
export const VALIDATED_HANDSHAKES_A_SECOND = 20;
/** Addresses of which that is kept; beyond it the one that was added first is forgotten. */
export const MAX_VALIDATED_SOURCES = 256;
/** Cookie replies a second; beyond it messages are dropped, and a peer sends its initiation again. */
export const COOKIE_REPLIES_A_SECOND = 200;
/**
 * Handshake messages whose `mac1` is computed in a second, 5 µs each; beyond it they are dropped unread.
 */
export const MACS_A_SECOND = 5000;

/** Milliseconds between two initiations of the peer that are handled; one that is sooner is dropped. */
export const INITIATION_INTERVAL = 20;

/** Handshake messages that wait to be sent; beyond it a new one is dropped. */
export const MAX_PENDING_MESSAGES = 64;

/** Bytes of the largest packet that fits into a datagram of either family, header and tag taken off. */
export const LARGEST_PACKET = 65_475;
/** Bytes of the smallest packet that a tunnel is used with: what every IPv4 host takes (RFC 791 §3.1). */
export const SMALLEST_MTU = 576;

/** Bytes that the kernel is asked to hold of what is received and sent; its own limits apply. */
export const SOCKET_BUFFER = 4 * 1024 * 1024;

/**
 * Milliseconds that a dial, or a new association, waits for anything from the peer before another handshake is
 * begun: a peer that was restarted is found in time.
 */
export const PATIENCE = 2_000;

/**
 * Milliseconds after which a dial fails during which nothing has come from the peer: a little before the
 * limit of every dial, which would not say whose fault it is.
 */
export const SILENCE_LIMIT = 9_500;

/**
 * Milliseconds for which packets had no answer, after which a new session restores the path: what was sent in
 * this time is taken for lost.
 */
export const UNANSWERED_TIME = 1_000;

/** TCP connections and UDP associations of one tunnel; a further one fails. */
export const MAX_FLOWS = 65_536;
