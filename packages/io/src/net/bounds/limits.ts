/** Bounds of queues in links and in frame decoders. Those of sockets are in `socket-limits.ts`. */

/**
 * Memory of a queued datagram beside its data, in bytes: the objects of the packet, of its header and
 * of the queues below. Measured for an empty datagram: 270 to 600 bytes. Without it a bound in bytes would
 * not bound empty datagrams at all, and would be 600 times too large for those of one byte.
 */
export const DATAGRAM_COST = 640;

/**
 * Memory of datagrams queued by a full carrier, in bytes with DATAGRAM_COST each: some 180
 * datagrams of 800 bytes, and 400 empty ones. At the bound the newest are dropped.
 */
export const MAX_UNSENT_BYTES = 256 * 1024;

/**
 * Memory of datagrams that one association keeps until an outbound is dialled, a stream is open or a
 * name is resolved, in bytes with DATAGRAM_COST each. At the bound the newest are dropped.
 */
export const MAX_KEPT_BYTES = 256 * 1024;

/**
 * MAX_KEPT_BYTES for all associations together. Beyond this bound each still keeps LEAST_KEPT_BYTES, the first
 * datagrams of a conversation, so that a client with thousands of associations to a silent upstream does not starve
 * others.
 */
export const MAX_ALL_KEPT_BYTES = 64 * 1024 * 1024;
export const LEAST_KEPT_BYTES = 4096;

/** Memory of a chunk queued in a memory link beside its data, in bytes: its objects and its buffer. */
export const CHUNK_COST = 256;
