/** Limits of the protocol and of the reference program (core/internal/protocol). Sizes in bytes. */

/** The address of a TCP request or a UDP message; a longer one is a protocol error. */
export const ADDRESS_LIMIT = 2048;

/** The message of a TCP response; a longer one is a protocol error. */
export const MESSAGE_LIMIT = 2048;

/** The padding of a TCP request or response; a longer one is a protocol error. */
export const PADDING_LIMIT = 4096;

/**
 * A UDP message, header included, with its fragments joined: the reference's buffer. A longer one is
 * dropped by either side.
 */
export const UDP_MESSAGE_LIMIT = 4096;

/** Fragments of one UDP message: their number and count are octets. */
export const FRAGMENT_LIMIT = 255;
