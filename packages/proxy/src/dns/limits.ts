/*
 * Bounds of pending questions, which all clients share.
 */

/**
 * Names that are being resolved. A client may use as many as are free, so that a single client has at most half. Beyond
 * that its next question displaces its oldest; when all are in use, the oldest one of the client that has the most is
 * displaced. Each takes some kilobytes and, over UDP, a descriptor.
 */
export const MAX_QUESTIONS = 2048;

/**
 * Questions that are being forwarded. Beyond this number the oldest one of the client that has the most is
 * displaced: after a second without an answer it is less likely to get one than a new question.
 */
export const MAX_FORWARDED = 512;

/**
 * Questions of either kind per second that displace others: each costs a socket, some 100 microseconds. Beyond this
 * rate they are refused.
 */
export const DISPLACED_A_SECOND = 1000;

/**
 * Files that are read in one drop-in folder of systemd-resolved, once for each new device. Further
 * ones are ignored.
 */
export const MAX_DROP_INS = 64;

/** Servers of systemd-resolved that are considered. Further ones are not named in the warning. */
export const MAX_UPSTREAMS = 16;
