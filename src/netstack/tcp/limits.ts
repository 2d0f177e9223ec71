/*
 * Bounds and times of TCP connections. Those of buffers and of loss recovery are with them.
 */

/** The shift that is announced: windows of 64 KiB times 128, above the largest receive buffer of 4 MiB. */
export const OWN_WINDOW_SCALE = 7;
/** The largest window without a shift: of a SYN, and of peers without the option. */
export const MAX_UNSCALED_WINDOW = 65_535;

/** Bytes of a segment's payload for peers that announce none (RFC 9293 §3.7.1), for either family. */
export const DEFAULT_MSS = 536;
/**
 * The smallest MSS that is used. A peer that announces less would make every chunk thousands of packets;
 * Linux has the same bound (`TCP_MIN_SND_MSS`), with room for the options.
 */
export const MIN_MSS = 48;

/** Milliseconds until the first SYN or SYN-ACK is sent again (RFC 6298 §2.1); it doubles each time. */
export const FIRST_HANDSHAKE_TIMEOUT = 1000;
/** The longest wait between two of them. */
export const MAX_HANDSHAKE_TIMEOUT = 60_000;
/** SYNs of a connection that are sent again, the last one after 63 seconds; a minute later it has failed. */
export const SYN_RETRIES = 6;
/** SYN-ACKs of a connection that are sent again. A client that does not respond occupies the backlog. */
export const SYN_ACK_RETRIES = 5;

/** Milliseconds that an ACK is delayed at most (RFC 9293 §3.8.6.3 says 500). */
export const MAX_ACK_DELAY = 40;

/** Segments with data at the start of a connection that are acknowledged at once, as Linux does. */
export const QUICK_ACKS = 16;
/** Duplicate ACKs that leave in one turn: three show a loss to a peer without SACK (RFC 5681 §3.2). */
export const MAX_DUPLICATE_ACKS = 4;

/**
 * Milliseconds until a zero window is probed for the first time where no round trip was measured; where
 * one was, it is the retransmission timeout (RFC 9293 §3.8.6.1), and at least `LEAST_WINDOW_PROBE`. It
 * doubles each time.
 */
export const FIRST_WINDOW_PROBE = 1000;
export const LEAST_WINDOW_PROBE = 200;
/** Milliseconds between two probes of a window, or of a silent peer's window, at most. */
export const MAX_WINDOW_PROBE = 60_000;

/** Milliseconds without a segment of the peer after which it is probed (RFC 9293 §3.8.4). */
export const KEEP_ALIVE_IDLE = 60_000;
/** Milliseconds between keep-alive probes that were not acknowledged. */
export const KEEP_ALIVE_INTERVAL = 10_000;
/** Probes without any response after which the connection has failed. */
export const KEEP_ALIVE_PROBES = 6;

/**
 * Milliseconds that data, a FIN or a window probe waits for any acknowledgment (RFC 9293 §3.8.3 leaves
 * the time to the application; Linux gives up after 15 retransmissions, some 15 minutes).
 */
export const USER_TIMEOUT = 5 * 60_000;

/** Milliseconds of TIME-WAIT: twice a segment lifetime of 30 seconds, as Linux has it (RFC 9293 §3.4.2). */
export const TIME_WAIT = 60_000;
/**
 * Milliseconds of it after which this side may use the ports again, with timestamps: the longest tick of a
 * peer's timestamp clock (RFC 7323 §5.4).
 */
export const REUSE_DELAY = 1000;
/** Connections in TIME-WAIT; beyond, the oldest is forgotten early. Each takes some 200 bytes. */
export const MAX_TIME_WAIT = 32_768;

/**
 * Challenge ACKs of one connection within `CHALLENGE_INTERVAL` (RFC 5961 §7): the connection's own count,
 * so that it says nothing about others (CVE-2016-5696). Beyond, segments that would cause one are dropped.
 */
export const MAX_CHALLENGE_ACKS = 10;
/** Milliseconds for which challenge ACKs are counted. */
export const CHALLENGE_INTERVAL = 1000;
/** Milliseconds between two ACKs of segments outside of the window, or of stray ones in TIME-WAIT. */
export const STRAY_ACK_INTERVAL = 100;

/** Milliseconds after which a timestamp of the peer says nothing any more (RFC 7323 §5.5): 24 days. */
export const TIMESTAMP_LIFETIME = 24 * 24 * 3600 * 1000;

/**
 * Connections that are not yet established (dials in progress, SYN-ACKs without an ACK) of a stack, and of
 * one address. At the bound one of the client that has the most gives way: see `ListenBacklog`.
 */
export const MAX_BACKLOG = 4096;
export const MAX_BACKLOG_PER_ADDRESS = 2048;
/**
 * Connections a second that give way to others without a better claim, such as those of the same client to
 * the same network: each costs a dial that begins and one that is aborted, up to a millisecond in all. Beyond
 * it SYNs are dropped: a client sends them again.
 */
export const DISPLACED_A_SECOND = 250;
/** How many times as many dials of a client go to another network than to that of a new one with a better claim. */
export const FAR_MORE_DIALS = 8;
