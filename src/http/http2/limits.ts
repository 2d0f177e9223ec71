/** Limits on the memory and work that a peer can cause. Sizes in bytes. */

/** The longest payload of a frame that is accepted: the smallest limit that RFC 9113 §4.2 allows. */
export const FRAME_LIMIT = 16_384;

/**
 * A decoded header list, by the count of RFC 9113 §10.5.1 (name, value and 32 bytes a field); announced
 * in SETTINGS. A stream with more is reset with ENHANCE_YOUR_CALM.
 */
export const HEADER_LIST_LIMIT = 16 << 10;
/** Fields of a header list; a stream with more is reset with ENHANCE_YOUR_CALM. */
export const FIELD_LIMIT = 64;
/**
 * An encoded header block with its continuations. A longer one closes the connection with
 * ENHANCE_YOUR_CALM: the decoder would be out of sync without the block.
 */
export const HEADER_BLOCK_LIMIT = 2 * HEADER_LIST_LIMIT;
/** CONTINUATION frames of one header block, empty ones included; more close the connection. */
export const CONTINUATION_LIMIT = 16;

/** The dynamic table of the decoder: the initial HEADER_TABLE_SIZE of RFC 9113 §6.5.2. */
export const DECODER_TABLE_BYTES = 4096;
/** The dynamic table of the encoder at most, whatever the peer allows. */
export const ENCODER_TABLE_BYTES = 4096;

/** The largest flow-control window (RFC 9113 §6.9.1). */
export const WINDOW_LIMIT = 2 ** 31 - 1;

/**
 * Responses to the peer's frames (acknowledgements and resets) that are not written yet. When a peer
 * that does not read causes more, the connection is closed with ENHANCE_YOUR_CALM.
 */
export const REPLY_LIMIT = 256 << 10;

/**
 * Streams that a client opens and resets, or makes the server reset, before they are served: a burst, and
 * a rate per second (CVE-2023-44487). More close the connection with ENHANCE_YOUR_CALM. Streams that
 * were served do not count: clients end tunnels with resets, and may have many.
 */
export const RESET_BURST = 1000;
export const RESET_RATE = 100;
/** Such resets in total while no stream was served: the client is not authenticated yet. */
export const UNPROVEN_RESETS = 100;

/**
 * Frames that carry nothing (SETTINGS, GOAWAY, PRIORITY, empty DATA, resets of streams that have ended,
 * unknown types): a burst, and a rate per second. More close the connection with ENHANCE_YOUR_CALM, as
 * do more PINGs, which are counted separately: each DATA frame with payload allows another PING, because
 * peers that estimate their bandwidth send one for each round trip with data.
 */
export const IDLE_FRAME_BURST = 10_000;
export const IDLE_FRAME_RATE = 1000;

/**
 * Streams that changes of INITIAL_WINDOW_SIZE make this side examine: a burst, and a rate per second.
 * More close the connection with ENHANCE_YOUR_CALM. Peers that estimate their bandwidth double the
 * window ten times at most; the burst is ten times all streams of a full connection.
 */
export const WINDOW_LOOK_BURST = 100_000;
export const WINDOW_LOOK_RATE = 10_000;

/**
 * Work that received frames may cause in one turn of the event loop: a unit for each stream that has
 * something to read, and STREAM_WORK for each that is opened, refused or reset. Further frames wait for
 * the next turn: one read may bring frames of thousands of streams, each of which costs up to 0.1 ms.
 */
export const WORK_A_TURN = 256;
/** The same while no stream was served; users of many such connections bound them together: see `ConnectionOptions`. */
export const UNPROVEN_WORK_A_TURN = 32;
export const STREAM_WORK = 2;

/** Closed streams of which it is known how the peer ended them. */
export const CLOSED_STREAM_LIMIT = 128;
/** Ranges of stream ids that the peer passed over, which are known as such. */
export const SKIPPED_RANGE_LIMIT = 16;

/** SETTINGS parameters in one frame; more close the connection with ENHANCE_YOUR_CALM. */
export const SETTINGS_LIMIT = 64;
/** SETTINGS and PING frames of this side that the peer has not acknowledged; more are not sent. */
export const UNACKNOWLEDGED_LIMIT = 16;

/** Bytes queued on a stream before its writer has to wait. */
export const SEND_QUEUE_BYTES = 64 << 10;
