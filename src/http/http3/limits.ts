/** Limits on the data that a peer can make HTTP/3 buffer. Sizes are in bytes. */

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
 * Number of bytes of a request body that are read and discarded, since the body is not used. Beyond that, and after the
 * response, the client is told to stop sending (H3_NO_ERROR, RFC 9114 §4.1).
 */
export const BODY_LIMIT = 64 * 1024;
