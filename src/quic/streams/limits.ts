/** Bounds of streams and of DATAGRAM frames, each with the effect of exceeding it. */

const KIB = 1024;
const MIB = 1024 * KIB;

/**
 * The window of a stream: its initial size, the size once its reader has kept up with that, and the largest size. It
 * starts small, because a stream that is never read holds no more than that. A peer that exceeds it gets
 * FLOW_CONTROL_ERROR.
 */
export const INITIAL_STREAM_WINDOW = 40 * KIB;
export const PROVEN_STREAM_WINDOW = 512 * KIB;
export const MAX_STREAM_WINDOW = 8 * MIB;

/** Bytes that a peer may send on all streams of a connection ahead of those received: initial and largest value. */
export const INITIAL_CONNECTION_WINDOW = 2 * MIB;
export const MAX_CONNECTION_WINDOW = 20 * MIB;

/**
 * Total bytes by which the windows of a connection's streams may exceed `INITIAL_STREAM_WINDOW`. Beyond that no window
 * grows until a stream with a large one has ended.
 */
export const MAX_WINDOW_GROWTH = 20 * MIB;

/**
 * Unread bytes of a connection: the growth, and the initial windows of 1,024 streams. Beyond that the peer may send
 * nothing until data is read: unread streams then stop the others.
 */
export const MAX_UNREAD = MAX_WINDOW_GROWTH + 1024 * INITIAL_STREAM_WINDOW;

/**
 * Bytes that a peer may send on all streams until it has authenticated itself (`authenticated`); they are not credited
 * back. Enough for requests of HTTP/3. No window grows until then.
 */
export const UNAUTHENTICATED_WINDOW = 64 * KIB;

/*
 * Gaps in the received data have no bound of their own: their cost is linear in the bytes received
 * (`StreamReassembly`).
 */

/**
 * Streams of each kind that a peer may have open, unless the protocol above allows more. A peer that
 * opens more gets STREAM_LIMIT_ERROR.
 */
export const MAX_BIDIRECTIONAL_STREAMS = 100;
export const MAX_UNIDIRECTIONAL_STREAMS = 16;

/**
 * Streams by which the limit exceeds those that the peer has opened, where more may be open at once: a single frame
 * opens all streams up to its own. The limit rises with the streams that it opens.
 */
export const STREAMS_AHEAD = 1024;

/**
 * Unsent bytes of a stream above which `write` returns false, and below which its caller may write again. No more is
 * queued than the peer's limit of the stream permits: a stream that its peer does not read holds the last chunk that
 * was written and `SEND_LEAST`.
 */
export const SEND_HIGH_WATER = 256 * KIB;
export const SEND_LOW_WATER = 64 * KIB;

/** Bytes that may be queued regardless of the peer's limit, so that requests and responses never wait. */
export const SEND_LEAST = 16 * KIB;

/**
 * Total unsent bytes of all streams of a connection. Beyond that each stream holds its last chunk and `SEND_LEAST`:
 * longer queues of many streams make none of them faster.
 */
export const SEND_SHARED = 2 * MIB;

/**
 * Bytes of new data that a stream sends before it is the next one's turn. With longer turns a receiver gets data of
 * fewer streams at once, each of which costs it a read and a write; a turn of 32 streams takes 42 ms at 100 Mbit/s. A
 * stream that had nothing to send before does not wait for its turn.
 */
export const STREAM_TURN = 16 * KIB;

/** DATAGRAM frames, and their bytes, that are queued in one direction; beyond either the newest is dropped. */
export const MAX_QUEUED_DATAGRAMS = 1024;
export const MAX_QUEUED_DATAGRAM_BYTES = MIB;
