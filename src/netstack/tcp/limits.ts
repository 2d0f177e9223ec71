/*
 * Limits and times of TCP connections. Limits of buffers are in `buffer-limits.ts`, those of loss recovery in
 * `recovery/recovery-limits.ts`.
 */

/** The window scale of this side: 64 KiB times 128 is above the largest receive buffer of 4 MiB. */
export const OWN_WINDOW_SCALE = 7;
/** The largest window without scaling: in a SYN, and with peers that do not support the option. */
export const MAX_UNSCALED_WINDOW = 65_535;

/** The MSS of peers that send no MSS option (RFC 9293 §3.7.1); the same for IPv4 and IPv6. */
export const DEFAULT_MSS = 536;
/**
 * The smallest MSS that is used: with less, a peer could turn every chunk into thousands of packets. Linux
 * has the same bound (`TCP_MIN_SND_MSS`), which leaves room for options.
 */
export const MIN_MSS = 48;

/** Milliseconds until a SYN or SYN-ACK is first retransmitted (RFC 6298 §2.1); doubles each time. */
export const FIRST_HANDSHAKE_TIMEOUT = 1000;
/** The longest time between two retransmissions of a SYN or SYN-ACK, in milliseconds. */
export const MAX_HANDSHAKE_TIMEOUT = 60_000;
/** Retransmissions of a SYN: the last one after 63 seconds, and a minute later the connection fails. */
export const SYN_RETRIES = 6;
/** Retransmissions of a SYN-ACK. Fewer, because a client that does not respond occupies the backlog. */
export const SYN_ACK_RETRIES = 5;

/** The longest delay of an ACK in milliseconds (RFC 9293 §3.8.6.3: MUST be less than 500). */
export const MAX_ACK_DELAY = 40;

/** Data segments at the start of a connection that are acknowledged at once, as in Linux. */
export const QUICK_ACKS = 16;
/** Duplicate ACKs sent in one turn: a peer without SACK detects a loss by three (RFC 5681 §3.2). */
export const MAX_DUPLICATE_ACKS = 4;

/**
 * Milliseconds until the first probe of a zero window if no round trip was measured. Otherwise the time is the
 * retransmission timeout (RFC 9293 §3.8.6.1), and at least `LEAST_WINDOW_PROBE`. Doubles each time.
 */
export const FIRST_WINDOW_PROBE = 1000;
export const LEAST_WINDOW_PROBE = 200;
/** The longest time between two probes of a window, in milliseconds. */
export const MAX_WINDOW_PROBE = 60_000;

/** Milliseconds without a segment of the peer until the first keep-alive probe (RFC 9293 §3.8.4). */
export const KEEP_ALIVE_IDLE = 60_000;
/** Milliseconds between keep-alive probes without an answer. */
export const KEEP_ALIVE_INTERVAL = 10_000;
/** Probes without an answer after which the connection has failed. */
export const KEEP_ALIVE_PROBES = 6;

/**
 * The user timeout: milliseconds that data, a FIN or a window probe may remain unacknowledged (RFC 9293
 * §3.8.3 leaves it to the application; Linux gives up after 15 retransmissions, some 15 minutes).
 */
export const USER_TIMEOUT = 5 * 60_000;

/** Milliseconds of TIME-WAIT: twice a maximum segment lifetime of 30 seconds, as in Linux (RFC 9293 §3.4.2). */
export const TIME_WAIT = 60_000;
/**
 * Milliseconds in TIME-WAIT after which this side may reuse the ports, if timestamps are in use: the longest
 * tick of a peer's timestamp clock (RFC 7323 §5.4).
 */
export const REUSE_DELAY = 1000;
/** Connections in TIME-WAIT. Beyond this number the oldest is removed early. Each takes some 200 bytes. */
export const MAX_TIME_WAIT = 32_768;

/**
 * Challenge ACKs of one connection within `CHALLENGE_INTERVAL` (RFC 5961 §7). Counted per connection, so that
 * an attacker learns nothing about others from it (CVE-2016-5696). Beyond this number such segments get no response.
 */
export const MAX_CHALLENGE_ACKS = 10;
/** Milliseconds over which challenge ACKs are counted. */
export const CHALLENGE_INTERVAL = 1000;
/** Milliseconds between two ACKs in reply to segments outside the window, or to stray ones in TIME-WAIT. */
export const STRAY_ACK_INTERVAL = 100;

/** Milliseconds after which TS.Recent is invalid (RFC 7323 §5.5): 24 days. */
export const TIMESTAMP_LIFETIME = 24 * 24 * 3600 * 1000;

/**
 * Connections of a stack, and of one client address, that are not yet established: their dial is in progress,
 * or their SYN-ACK is not acknowledged. At the limit a connection is displaced: see `ListenBacklog`.
 */
export const MAX_BACKLOG = 4096;
export const MAX_BACKLOG_PER_ADDRESS = 2048;
/**
 * Connections displaced per second in favour of others without priority, such as those of the same client to
 * the same network: each costs the start of one dial and the abort of another, up to a millisecond in all.
 * Beyond this rate SYNs are dropped, and clients retransmit them.
 */
export const DISPLACED_A_SECOND = 250;
/**
 * Ratio that gives a new dial priority: of the dials of the same client to another network, to those to the network of
 * the new one.
 */
export const FAR_MORE_DIALS = 8;
