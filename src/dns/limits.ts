/*
 * Bounds of the questions under way, which all clients share.
 */

/**
 * Names that are being resolved. One client alone has half of them at most: as many as are free. Beyond its
 * share its oldest question gives way to its next; where all are in use, the oldest one of the client that
 * has the most. Each takes some kilobytes and, over UDP, a descriptor.
 */
export const MAX_QUESTIONS = 2048;

/**
 * Questions that are being passed on. Beyond it the oldest one of the client that has the most gives way:
 * one that had a second is less likely to be answered than a new one.
 */
export const MAX_FORWARDED = 512;

/**
 * Questions a second that take the places of others, of either kind: each costs a socket, some 100
 * microseconds. Beyond it they are refused.
 */
export const DISPLACED_A_SECOND = 1000;

/**
 * Files that are read of one folder of drop-ins of systemd-resolved, once for a device that comes. Beyond it
 * they are not looked at.
 */
export const MAX_DROP_INS = 64;

/** Servers of systemd-resolved that are looked at. Beyond it they are not named in the warning. */
export const MAX_UPSTREAMS = 16;
