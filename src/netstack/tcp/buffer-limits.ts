/*
 * Sizes of the buffers of a connection.
 */

const KIB = 1024;
const MIB = 1024 * KIB;

/**
 * Bytes of a send buffer, queued and in flight: initial and maximum. In between the buffer is twice the congestion
 * window: one window is in flight while the next one is queued.
 */
export const FIRST_SEND_BUFFER = 256 * KIB;
export const MAX_SEND_BUFFER = 4 * MIB;
/** Bytes that each chunk counts beyond its data, so that the memory of tiny chunks is bounded as well. */
export const CHUNK_OVERHEAD = 128;

/**
 * Bytes of a receive window: initial and maximum. The window doubles while a reader that keeps up takes at least half
 * of it in a round trip.
 */
export const FIRST_RECEIVE_WINDOW = 256 * KIB;
export const MAX_RECEIVE_WINDOW = 4 * MIB;
/**
 * The shortest round trip assumed for the growth of the window, in milliseconds: on one host a read waits for the
 * reader's turn.
 */
export const LEAST_GROWTH_INTERVAL = 5;

/**
 * Bytes that a connection may hold in each direction when the shared memory is used up: ten packets in flight,
 * which is still fast on the path to a local device.
 */
export const LEAST_BUFFER = 16 * KIB;

/**
 * Ranges of out-of-order data. A segment that would start another one is dropped, and the sender retransmits
 * it. A path that loses every second packet of a window has a few hundred.
 */
export const MAX_RANGES = 512;
/** Bytes of a block of out-of-order data; blocks start at multiples of this. */
export const OUT_OF_ORDER_BLOCK = 16 * KIB;

/** Bytes of a block of in-order data: as much as is received between two reads, within these bounds. */
export const LEAST_BLOCK = 256;
export const MOST_BLOCK = 64 * KIB;

/** The state of the memory that all connections of a stack share. */
export interface SharedMemory {
  /** Whether there is enough memory for larger buffers. */
  readonly mayGrow: boolean;
  /** Whether the memory is used up: each connection is then limited to `LEAST_BUFFER` in each direction. */
  readonly isShort: boolean;
}
