/** Limits on what a peer can make HTTP/3 buffer. Sizes in bytes. */

/**
 * A header section, both as it is encoded and as RFC 9114 §4.2.2 counts it decoded (name, value and
 * 32 bytes a field); announced in SETTINGS. A request with more is reset with H3_EXCESSIVE_LOAD.
 */
export const FIELD_SECTION_LIMIT = 16 * 1024;

/**
 * Header blocks of all unfinished requests of one connection. A request that needs more is reset with
 * H3_EXCESSIVE_LOAD: otherwise an unauthenticated client could fill FIELD_SECTION_LIMIT on each of a
 * thousand streams.
 */
export const BUFFERED_FIELDS_LIMIT = 64 * 1024;

/**
 * The payload of a frame of the control stream that is read and not skipped. Longer SETTINGS close
 * the connection with H3_EXCESSIVE_LOAD.
 */
export const CONTROL_FRAME_LIMIT = 4096;

/**
 * A request body is not used: it is read and dropped up to this length. After more, and after the
 * response, the client is told to stop sending (H3_NO_ERROR, RFC 9114 §4.1).
 */
export const BODY_LIMIT = 64 * 1024;
