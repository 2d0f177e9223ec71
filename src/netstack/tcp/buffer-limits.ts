/*
 * Sizes of the buffers of a connection.
 */

const KIB = 1024;
const MIB = 1024 * KIB;

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

/** The memory that all connections of a stack share, as it is at any time. */
export interface SharedMemory {
  /** Whether there is enough for larger buffers. */
  readonly mayGrow: boolean;
  /** Whether it is used up: each connection is then limited to `LEAST_BUFFER` in each direction. */
  readonly isShort: boolean;
}
