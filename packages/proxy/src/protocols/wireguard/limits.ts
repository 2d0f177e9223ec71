/*
 * Bounds of a tunnel that the protocol leaves to the implementation, each with the effect of reaching it.
 * Times are in milliseconds. The constants of whitepaper §6 are in `deadlines.ts`.
 */

/** Lifetime of the cookie secret, and of a received cookie (§5.4.7: two minutes). */
export const COOKIE_SECRET_TIME = 120_000;

/** Size of the replay window in packets, counted back from the newest; older ones are dropped. */
export const REPLAY_WINDOW = 8192;

/**
 * Packets queued for a handshake, and their bytes; the oldest is dropped for a new one. A thousand connections may
 * begin at once.
 */
export const MAX_WAITING_PACKETS = 1024;
export const MAX_WAITING_PACKET_BYTES = 1024 * 1024;

/**
 * Handshake messages a second with a valid `mac1` that are handled, some 0.2 ms of work each. Above this rate a sender
 * gets a cookie reply, and has to validate its address.
 */
export const HANDSHAKES_A_SECOND = 50;
/** Handshake messages a second of each validated address, above the first limit. Others are dropped. */
export const VALIDATED_HANDSHAKES_A_SECOND = 20;
/** Addresses for which such messages are counted; the first added is forgotten for a new one. */
export const MAX_VALIDATED_SOURCES = 256;
/** Cookie replies a second; above this rate messages are dropped, and a peer repeats its initiation. */
export const COOKIE_REPLIES_A_SECOND = 200;
/**
 * Responses a second with the index of the handshake in progress that are read, some 0.15 ms of work each, all of them in
 * one turn if they arrive together; others are dropped. A peer sends one for each initiation.
 */
export const RESPONSES_A_SECOND = 200;
/** Handshake messages a second whose `mac1` is computed, 5 µs each; above this rate they are dropped unread. */
export const MACS_A_SECOND = 5000;

/** Least time between two initiations of the peer; one that comes sooner is dropped. */
export const INITIATION_INTERVAL = 20;

/** Handshake messages queued for sending; beyond this number a new one is dropped. */
export const MAX_PENDING_MESSAGES = 64;

/** Bytes of the largest packet that fits into a datagram of either family, less the header and the tag. */
export const LARGEST_PACKET = 65_475;
/** Bytes of the smallest MTU of a tunnel, which every IPv4 host accepts (RFC 791 §3.1). */
export const SMALLEST_MTU = 576;

/** Bytes of the socket's receive and send buffers, as requested; the kernel's limits apply. */
export const SOCKET_BUFFER = 4 * 1024 * 1024;

/**
 * Time after the start of an association, or of a dial's connection attempts (its name is resolved by then), at
 * which another handshake begins if the peer has been silent: a restarted peer responds before dials fail.
 */
export const RETRY_DELAY = 2_000;

/**
 * Time after the start of a dial at which it fails if the peer has been silent: just before the limit of every
 * dial, whose error does not name the peer.
 */
export const SILENCE_LIMIT = 9_500;

/**
 * Least time from the start of the connection attempts that counts as silence: RETRY_DELAY, and as long for
 * the response to that handshake. A dial whose name took longer to resolve fails at the limit of every dial.
 */
export const LEAST_SILENCE = 2 * RETRY_DELAY;

/**
 * Time without a response after which a new session counts as a restored path: packets sent in that time are presumed
 * lost.
 */
export const UNANSWERED_TIME = 1_000;

/** TCP connections and UDP associations of one tunnel; another one fails. */
export const MAX_FLOWS = 65_536;

/** Time of initiations without a response after which the name of the peer is resolved again, in milliseconds. */
export const RESOLVE_AFTER_TIME = 15_000;

/** Time between two resolutions of the peer's name, so that a peer that is down costs the name servers little. */
export const RESOLVE_INTERVAL = 30_000;
