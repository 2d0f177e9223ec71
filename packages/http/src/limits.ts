/*
 * The limits on the memory and work that a peer can cause. Sizes are in bytes unless noted otherwise.
 */

/** Limit of interim responses (1xx) that a server may send before the final one, in any version of HTTP. */
export const INTERIM_LIMIT = 16;

// ---- HTTP/1 ----

/** Limit of the start line and header section of a message; larger ones get a response with 431. */
export const HEAD_LIMIT = 64 * 1024;

/**
 * Limit of the start line and header section of an origin's response, as in Chrome; for larger ones the client gets
 * 502.
 */
export const RESPONSE_HEAD_LIMIT = 256 * 1024;

/**
 * Limit of the memory of all unfinished heads of an inbound. Beyond it a head may still use LEAST_HEAD_BYTES; larger
 * ones get a response with 431.
 */
export const MAX_ALL_HEAD_BYTES = 32 * 1024 * 1024;
export const LEAST_HEAD_BYTES = 8 * 1024;

/** Limit of header lines of a message, as in nginx; more get a response with 431. */
export const FIELD_LINE_LIMIT = 1_000;

/** Limit of header lines of an origin's response, as in curl: each cookie has its own line. */
export const RESPONSE_FIELD_LINE_LIMIT = 5_000;

/** Limit of the line before a chunk, with its size and extensions. */
export const CHUNK_LINE_LIMIT = 4096;

/** Limit of the trailer section of a chunked body. */
export const TRAILER_LIMIT = 16 * 1024;

// ---- HTTP/2 ----

/** Maximum payload of an accepted frame: the smallest limit that RFC 9113 §4.2 allows. */
export const FRAME_LIMIT = 16_384;

/**
 * Limit of a decoded header list, as defined in RFC 9113 §10.5.1 (name, value and 32 bytes per field); announced in
 * SETTINGS. A stream with a larger list is reset with ENHANCE_YOUR_CALM.
 */
export const HEADER_LIST_LIMIT = 16 << 10;
/** Limit of fields in a header list; a stream with more is reset with ENHANCE_YOUR_CALM. */
export const FIELD_LIMIT = 64;
/**
 * Limit of an encoded header block with its continuations. A longer one closes the connection with ENHANCE_YOUR_CALM:
 * without the block the decoder would be out of sync.
 */
export const HEADER_BLOCK_LIMIT = 2 * HEADER_LIST_LIMIT;
/** Limit of CONTINUATION frames of one header block, empty ones included; more close the connection. */
export const CONTINUATION_LIMIT = 16;

/** Capacity of the decoder's dynamic table: the initial HEADER_TABLE_SIZE of RFC 9113 §6.5.2. */
export const DECODER_TABLE_BYTES = 4096;
/** Maximum capacity of the encoder's dynamic table, whatever the peer allows. */
export const ENCODER_TABLE_BYTES = 4096;

/** Maximum flow-control window (RFC 9113 §6.9.1). */
export const WINDOW_LIMIT = 2 ** 31 - 1;

/**
 * Limit of unsent responses to the peer's frames (acknowledgements and resets). If a peer that does not read causes
 * more, the connection is closed with ENHANCE_YOUR_CALM.
 */
export const REPLY_LIMIT = 256 << 10;

/**
 * Limits of streams that a client opens and resets, or makes the server reset, before they are served: a burst, and a
 * rate per second (CVE-2023-44487). More close the connection with ENHANCE_YOUR_CALM. Served streams do not count:
 * clients end tunnels with resets, and may have many.
 */
export const RESET_BURST = 1000;
export const RESET_RATE = 100;
/** Limit of such resets in total while no stream was served: the client is not authenticated yet. */
export const UNPROVEN_RESETS = 100;

/**
 * Limits of frames without data (SETTINGS, GOAWAY, PRIORITY, empty DATA, resets of streams that have ended, unknown
 * types): a burst, and a rate per second. More close the connection with ENHANCE_YOUR_CALM, as do more PINGs, which are
 * counted separately: each DATA frame with payload allows another PING, because peers that estimate bandwidth send one
 * per round trip with data.
 */
export const IDLE_FRAME_BURST = 10_000;
export const IDLE_FRAME_RATE = 1000;

/**
 * Limits of streams that this side examines because of changes of INITIAL_WINDOW_SIZE: a burst, and a rate per second.
 * More close the connection with ENHANCE_YOUR_CALM. Peers that estimate bandwidth double the window at most ten times;
 * the burst is ten times all streams of a full connection.
 */
export const WINDOW_LOOK_BURST = 100_000;
export const WINDOW_LOOK_RATE = 10_000;

/**
 * Limit of the work that received frames may cause per turn of the event loop: one unit for each stream with data to
 * read, and STREAM_WORK for each stream that is opened, refused or reset. Further frames are deferred to the next turn:
 * one read may contain frames of thousands of streams, each of which costs up to 0.1 ms.
 */
export const WORK_A_TURN = 256;
/**
 * Limit of the work per turn while no stream was served; users of many such connections limit them together: see
 * `ConnectionOptions`.
 */
export const UNPROVEN_WORK_A_TURN = 32;
export const STREAM_WORK = 2;

/** Number of closed streams for which the way in which the peer ended them is remembered. */
export const CLOSED_STREAM_LIMIT = 128;
/** Number of remembered ranges of stream ids that the peer skipped. */
export const SKIPPED_RANGE_LIMIT = 16;

/** Limit of SETTINGS parameters in one frame; more close the connection with ENHANCE_YOUR_CALM. */
export const SETTINGS_LIMIT = 64;
/** Limit of unacknowledged SETTINGS and PING frames of this side; further ones are not sent. */
export const UNACKNOWLEDGED_LIMIT = 16;

/** Number of bytes queued on a stream from which on its writer has to wait. */
export const SEND_QUEUE_BYTES = 64 << 10;

// ---- HTTP/3 ----

/**
 * Limit of a header section, both encoded and as RFC 9114 §4.2.2 counts it decoded (name, value and 32 bytes per
 * field); announced in SETTINGS. A request with more is reset with H3_EXCESSIVE_LOAD.
 */
export const FIELD_SECTION_LIMIT = 16 * 1024;

/**
 * Limit of the header blocks of all unfinished requests of a connection. A request that needs more is reset with
 * H3_EXCESSIVE_LOAD: otherwise an unauthenticated client could use FIELD_SECTION_LIMIT on each of a thousand streams.
 */
export const BUFFERED_FIELDS_LIMIT = 64 * 1024;

/**
 * Limit of the payload of frames of the control stream that are not skipped. Longer SETTINGS close the connection with
 * H3_EXCESSIVE_LOAD.
 */
export const CONTROL_FRAME_LIMIT = 4096;

/**
 * Number of bytes of a control or QPACK stream that count as a unit of work (see `UnitCost`). Whatever they are, 64 KB take
 * up to 2 ms, and a peer that sends the first byte last has its whole window read at once. A client may send some frame
 * with every request, so that their number has no bound.
 */
export const CRITICAL_BYTES_A_UNIT = 16;

/**
 * Number of bytes of a body, and of the heads of frames of unknown types, that are read and discarded. Beyond that a
 * message without a header section fails (H3_EXCESSIVE_LOAD), and a client is asked to stop sending after the response
 * (H3_NO_ERROR, RFC 9114 §4.1).
 */
export const BODY_LIMIT = 64 * 1024;
