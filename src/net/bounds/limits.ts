/** Bounds of what waits in links and in decoders of frames. Those of sockets are in `socket-limits.ts`. */

/**
 * Bytes that a datagram which waits costs beside its data: the objects of the packet, of its header
 * and of the queues below. Measured for an empty one at 270 to 600 bytes. Without it a bound in bytes
 * is none for empty datagrams, and 600 times too large for those of one byte.
 */
export const DATAGRAM_COST = 640;

/**
 * Memory of datagrams that wait for a full carrier, in bytes with DATAGRAM_COST each: some 180
 * datagrams of 800 bytes, and 400 empty ones. At the bound the newest are dropped.
 */
export const MAX_UNSENT_BYTES = 256 * 1024;

/**
 * Memory of datagrams that one association keeps until an outbound, a stream or a name is there, in
 * bytes with DATAGRAM_COST each: a few would be kept for each of many peers. At the bound the newest
 * are dropped.
 */
export const MAX_KEPT_BYTES = 256 * 1024;

/**
 * The same of all associations together. Beyond it each keeps LEAST_KEPT_BYTES, the first datagrams of a
 * conversation: one client with thousands of associations to a silent upstream takes no more from others.
 */
export const MAX_ALL_KEPT_BYTES = 64 * 1024 * 1024;
export const LEAST_KEPT_BYTES = 4096;

/** Bytes that a chunk which waits in a link of memory costs beside its own: objects and its buffer. */
export const CHUNK_COST = 256;
