/*
 * Bounds and times of buffers and of loss recovery. Times in milliseconds.
 */

const KIB = 1024;
const MIB = 1024 * KIB;

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

/** SACK blocks of one segment that are looked at; its options have room for four (RFC 2018 §3). */
export const MAX_SACK_BLOCKS = 4;

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

/**
 * Bytes of a send buffer, queued and in flight: at first, and at most. In between it is twice the
 * congestion window, so that a round trip's worth waits while another one is in flight.
 */
export const FIRST_SEND_BUFFER = 256 * KIB;
export const MAX_SEND_BUFFER = 4 * MIB;
/** What a chunk counts in addition to its bytes, so that the memory of tiny chunks is bounded, too. */
export const CHUNK_OVERHEAD = 128;

/**
 * Bytes of a receive window: at first, and at most. It doubles while a reader that keeps up takes more
 * than half of it in a round trip.
 */
export const FIRST_RECEIVE_WINDOW = 256 * KIB;
export const MAX_RECEIVE_WINDOW = 4 * MIB;
/** The round trip that growth reckons with at least: on one host a read waits for the reader's turn. */
export const LEAST_GROWTH_INTERVAL = 5;

/**
 * Bytes that a connection may hold in each direction where the memory of all connections is used up: ten
 * packets are under way at a time, which on the path to a device is still fast.
 */
export const LEAST_BUFFER = 16 * KIB;

/**
 * Ranges of data that came out of order. A segment that would begin another one is dropped: the sender
 * repeats it later. A path that loses every second packet of a window has a few hundred.
 */
export const MAX_RANGES = 512;
/** Bytes of the blocks for what came out of order; they start at multiples of this. */
export const OUT_OF_ORDER_BLOCK = 16 * KIB;

/** Bytes of the blocks for what comes in order: they follow what is received between two reads. */
export const LEAST_BLOCK = 256;
export const MOST_BLOCK = 64 * KIB;
