/*
 * Bounds of loss recovery and acknowledgements.
 */

/**
 * Packets of one space that there is memory for with the first one; the ring doubles from there. An idle
 * connection has no more than a few.
 */
export const FIRST_PACKET_CAPACITY = 8;

/**
 * Packets of one space that are remembered at most: 75 MB of 1,200-byte packets, the window of 1 Gbit/s
 * at 600 ms. At the bound no further packet may be sent but probes (`LossDetection.canSend`); when even
 * those find no room, the oldest packet is given up as lost.
 */
export const MAX_PACKETS = 1 << 16;

/** Packets of `MAX_PACKETS` that are kept for probes and acknowledgements. */
export const RESERVED_PACKETS = 64;

/** Frames of one space that there is memory for with the first one. */
export const FIRST_FRAME_CAPACITY = 16;

/** Frames and packets for which memory is not kept when there are none. */
export const KEPT_CAPACITY = 1024;

/**
 * Frames of one space that are remembered at most, 8 MB: four for each packet. At the bound no further
 * packet may be sent (`LossDetection.canSend`).
 */
export const MAX_FRAMES = 1 << 18;

/** Frames of one packet that are remembered at most; the writers of frames stop there. */
export const MAX_FRAMES_PER_PACKET = 256;

/**
 * Ranges of received packets that are remembered, and reported in an ACK frame, at most. Beyond it the
 * oldest range is forgotten: the peer sends again what it held, if that was not acknowledged before.
 */
export const MAX_ACK_RANGES = 64;

/** Ranges that there is memory for at first; it doubles from there. */
export const FIRST_ACK_RANGES = 4;

/** Packet numbers, up to the newest, of which repetitions are noticed; older packets are dropped. */
export const DUPLICATE_WINDOW = 4096;

/**
 * Packets without an ack-eliciting frame in a row, after which the next one should elicit an
 * acknowledgement (`LossDetection.wantsPing`), so that both sides can forget what was acknowledged.
 */
export const PINGLESS_PACKETS = 32;
