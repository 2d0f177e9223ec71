/*
 * Bounds of loss recovery and acknowledgements.
 */

/**
 * Initial capacity for the sent packets of one space; it doubles when needed. An idle connection has no more
 * than a few in flight.
 */
export const FIRST_PACKET_CAPACITY = 8;

/**
 * The most sent packets of one space that are remembered: 75 MB of 1,200-byte packets, the window of 1 Gbit/s
 * at 600 ms. At the bound only probes may be sent (`LossDetection.canSend`); when there is no room for those
 * either, the oldest packet is declared lost.
 */
export const MAX_PACKETS = 1 << 16;

/** The part of `MAX_PACKETS` that is reserved for probes and acknowledgements. */
export const RESERVED_PACKETS = 64;

/** Initial capacity for the sent frames of one space. */
export const FIRST_FRAME_CAPACITY = 16;

/** Capacity above which memory is freed once no frame or packet is recorded. */
export const KEPT_CAPACITY = 1024;

/**
 * The most sent frames of one space that are remembered: four for each packet, 8 MB. At the bound no further
 * packet may be sent (`LossDetection.canSend`).
 */
export const MAX_FRAMES = 1 << 18;

/** The most frames of one packet that are remembered; at the bound no further frame is written into it. */
export const MAX_FRAMES_PER_PACKET = 256;

/**
 * The most ranges of received packets that are remembered and reported in an ACK frame. Beyond this number the oldest
 * range is forgotten: the peer retransmits its packets unless they were acknowledged before.
 */
export const MAX_ACK_RANGES = 64;

/** Initial capacity for ranges of received packets; it doubles when needed. */
export const FIRST_ACK_RANGES = 4;

/** Packet numbers, up to the newest, in which duplicates are detected; older packets are dropped. */
export const DUPLICATE_WINDOW = 4096;

/**
 * Packets in a row that are not ack-eliciting, after which the next one should have a PING
 * (`LossDetection.wantsPing`), so that both sides can forget what was acknowledged.
 */
export const PINGLESS_PACKETS = 32;
