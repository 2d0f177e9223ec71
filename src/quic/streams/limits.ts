/*
 * Bounds of streams and of DATAGRAM frames, each with what happens when it is reached.
 */

const KIB = 1024;
const MIB = 1024 * KIB;

/**
 * Bytes that a peer may have sent on a stream and that have not been read: at first, when its reader has
 * kept up with that, and at most. A window starts small, because a stream that is never read then holds
 * no more than that. A peer that exceeds it gets FLOW_CONTROL_ERROR.
 */
export const INITIAL_STREAM_WINDOW = 40 * KIB;
export const PROVEN_STREAM_WINDOW = 512 * KIB;
export const MAX_STREAM_WINDOW = 8 * MIB;

/** Bytes that a peer may send on all streams of a connection ahead of what has come: at first, and at most. */
export const INITIAL_CONNECTION_WINDOW = 2 * MIB;
export const MAX_CONNECTION_WINDOW = 20 * MIB;

/**
 * By how much the windows of all streams of a connection together may exceed `INITIAL_STREAM_WINDOW`.
 * Beyond it no window grows until a stream that has a large one has ended.
 */
export const MAX_WINDOW_GROWTH = 20 * MIB;

/**
 * Unread bytes of a connection: the growth, and the first window of 1,024 streams. Beyond it the peer
 * may send nothing until something is read: an unread stream then stops the others.
 */
export const MAX_UNREAD = MAX_WINDOW_GROWTH + 1024 * INITIAL_STREAM_WINDOW;

/**
 * Bytes that a peer may send on all streams until the protocol above knows who it is (`authenticated`),
 * which are not credited back: what requests of HTTP/3 need. No window grows until then.
 */
export const UNAUTHENTICATED_WINDOW = 64 * KIB;

/*
 * Gaps in what was received have no bound of their own: what they cost follows the bytes that have come
 * (`StreamReassembly`).
 */

/**
 * Streams of each kind that a peer may have open, unless the protocol above allows more. A peer that
 * opens more gets STREAM_LIMIT_ERROR.
 */
export const MAX_BIDIRECTIONAL_STREAMS = 100;
export const MAX_UNIDIRECTIONAL_STREAMS = 16;

/**
 * Streams that a peer which may have more of them open can open at a time, with a single frame: its
 * limit rises by what it opens.
 */
export const STREAMS_AHEAD = 1024;

/**
 * Bytes of a stream not sent yet, above which `write` asks its caller to wait; below the second a caller that
 * waits may write again. No more is queued than the peer's limit of the stream allows to be sent: a stream
 * that its peer does not read holds the last chunk that was written and `SEND_LEAST`.
 */
export const SEND_HIGH_WATER = 256 * KIB;
export const SEND_LOW_WATER = 64 * KIB;

/** Bytes that may be queued whatever the peer allows: requests and responses never wait. */
export const SEND_LEAST = 16 * KIB;

/**
 * Bytes of all streams of a connection not sent yet. Beyond it each stream holds its last chunk and
 * `SEND_LEAST`: what many streams queue makes none of them faster.
 */
export const SEND_SHARED = 2 * MIB;

/**
 * Bytes of new data that a stream sends in its turn before the next one has its own. More of them are
 * fewer streams in what a receiver gets at once, of which each costs a read and a write there; a turn of
 * 32 streams takes 42 ms at 100 Mbit/s. A stream that had nothing to send does not wait for it.
 */
export const STREAM_TURN = 16 * KIB;

/** DATAGRAM frames and bytes that wait to be sent or taken; beyond, the newest is dropped. */
export const MAX_QUEUED_DATAGRAMS = 1024;
export const MAX_QUEUED_DATAGRAM_BYTES = MIB;
