/*
 * Bounds and times of loss recovery. Times in milliseconds.
 */

/**
 * Segments sent and not acknowledged, beyond which no new data leaves until an acknowledgement comes;
 * each has up to 64 KiB. Selective acknowledgements and retransmissions divide them further, but only
 * at multiples of the MSS, so the second bound holds for what there is at most.
 */
export const MAX_SEGMENTS = 6144;
/** Bytes sent and not acknowledged, as a multiple of the MSS: with it there are at most twice `MAX_SEGMENTS`. */
export const MAX_OUTSTANDING_SEGMENTS = MAX_SEGMENTS;

/**
 * Segments that are remembered at first; the memory doubles from there. An idle connection has few, and
 * columns of this length lie in V8's heap.
 */
export const FIRST_SEGMENT_CAPACITY = 4;
/** Memory for more than this many segments is given back when nothing is outstanding. */
export const KEPT_SEGMENT_CAPACITY = 32;

/** The retransmission timeout before the round trip is known (RFC 6298 §2.1), and after a lost SYN (§5.7). */
export const INITIAL_TIMEOUT = 1000;
export const TIMEOUT_AFTER_LOST_SYN = 3000;
/**
 * What the timeout adds to the round trip at least. RFC 6298 §2.4 says one second in all; as in Linux it
 * is enough for a peer's delayed acknowledgement, and timeouts that prove wrong are taken back.
 */
export const LEAST_TIMEOUT_MARGIN = 200;
/** The longest timeout (RFC 6298 §2.5). */
export const MAX_TIMEOUT = 60_000;

/** Duplicate acknowledgements, or segments reported by SACK, that stand for a loss (RFC 5681 §3.2). */
export const DUPLICATE_THRESHOLD = 3;

/** The shortest wait for a tail loss probe: timers fire to the millisecond, and hosts pause. */
export const LEAST_PROBE_WAIT = 10;
/** The wait before the round trip is known (RFC 8985 §7.2). */
export const FIRST_PROBE_WAIT = 1000;
/** What is added with one segment in flight, whose acknowledgement the peer may delay (RFC 8985 §7.2). */
export const WORST_ACK_DELAY = 200;

/** The granularity of timestamps that the connection sends (RFC 7323 §5.4). */
export const TIMESTAMP_TICK = 1;
