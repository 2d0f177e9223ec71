/*
 * Bounds and times of loss recovery. Times in milliseconds.
 */

/**
 * Segments in the retransmission queue beyond which no new data is sent until an acknowledgement arrives; each has up
 * to 64 KiB. SACK blocks and retransmissions divide them further, but only at multiples of the MSS, so that
 * `MAX_OUTSTANDING_SEGMENTS` bounds their number.
 */
export const MAX_SEGMENTS = 6144;
/** SND.NXT - SND.UNA as a multiple of the MSS: there are then at most twice `MAX_SEGMENTS`. */
export const MAX_OUTSTANDING_SEGMENTS = MAX_SEGMENTS;

/**
 * The initial capacity of the retransmission queue, which doubles. An idle connection has few segments, and columns of
 * this length are allocated in V8's heap.
 */
export const FIRST_SEGMENT_CAPACITY = 4;
/** Queues with a larger capacity are released when nothing is outstanding. */
export const KEPT_SEGMENT_CAPACITY = 32;

/** The retransmission timeout before the round trip is known (RFC 6298 §2.1), and after a lost SYN (§5.7). */
export const INITIAL_TIMEOUT = 1000;
export const TIMEOUT_AFTER_LOST_SYN = 3000;
/**
 * The minimum that the timeout adds to the smoothed round trip. RFC 6298 §2.4 requires one second in total. As in
 * Linux, this covers a peer's delayed ACK, and spurious timeouts are undone.
 */
export const LEAST_TIMEOUT_MARGIN = 200;
/** The longest timeout (RFC 6298 §2.5). */
export const MAX_TIMEOUT = 60_000;

/** DupThresh: duplicate ACKs, or segments reported by SACK, that indicate a loss (RFC 5681 §3.2). */
export const DUPLICATE_THRESHOLD = 3;

/** The shortest probe timeout: timers have a resolution of a millisecond, and hosts pause. */
export const LEAST_PROBE_WAIT = 10;
/** The probe timeout before the round trip is known (RFC 8985 §7.2). */
export const FIRST_PROBE_WAIT = 1000;
/** TLP.max_ack_delay: added if one segment is in flight, whose ACK the peer may delay (RFC 8985 §7.2). */
export const WORST_ACK_DELAY = 200;

/** The tick of the timestamp clock in milliseconds (RFC 7323 §5.4). */
export const TIMESTAMP_TICK = 1;
