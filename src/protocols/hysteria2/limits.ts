/** Limits of the reference program (core/internal/protocol). Sizes in bytes. */

/** The address of a TCP request or a UDP message; a longer one is a protocol error. */
export const ADDRESS_LIMIT = 2048;

/** The message of a TCP response: a longer one is a protocol error, and is cut before it is sent. */
export const MESSAGE_LIMIT = 2048;

/** The padding of a TCP request or response; a longer one is a protocol error. */
export const PADDING_LIMIT = 4096;

/** What a reader of requests and responses holds: their longest part. */
export const READER_LIMIT = PADDING_LIMIT;

/** The data of a UDP message, its fragments joined; one with more is dropped by either side. */
export const UDP_PAYLOAD_LIMIT = 4096;

/** Fragments of one UDP message, whose count is an octet; one that needs more is dropped. */
export const FRAGMENT_LIMIT = 255;
