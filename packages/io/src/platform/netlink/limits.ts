/**
 * The most destinations whose device is cached, about 100 bytes each. At the limit the oldest is
 * evicted; its next use costs one query of the kernel.
 */
export const MOST_REMEMBERED = 4096;

/**
 * The most routes of the system that are kept, about 400 bytes each. Routes beyond this number are ignored:
 * their destinations use a shorter prefix, or are unreachable while a device of this process covers
 * them.
 */
export const MOST_ROUTES = 65_536;

/** The most rules of policy routing that are kept per family; further rules are ignored. */
export const MOST_RULES = 1024;

/**
 * Netlink datagrams read per turn of the event loop, each of at most 32 KB, or about 250 routes.
 * The rest follows in the next turn.
 */
export const READS_A_TURN = 16;

/** Bytes of notifications that the kernel queues for this process; further ones are lost (ENOBUFS). */
export const NOTIFICATIONS_KEPT = 1 << 20;

/**
 * Milliseconds between the starts of two dumps of all routes: a flood of changes or errors causes
 * at most one dump in this time.
 */
export const LIST_INTERVAL_MS = 250;

/**
 * Milliseconds between two flushes of cached destinations in a flood of route changes: each
 * destination in use is queried no more often.
 */
export const FORGET_INTERVAL_MS = 200;

/**
 * Flushes without the delay of FORGET_INTERVAL_MS: changes that a person or daemon makes together, or a link that goes
 * down and up with its routes, take effect for the next flow.
 */
export const FORGOTTEN_AT_ONCE = 8;

/** Milliseconds between two restorations of one device, if another program keeps changing it. */
export const RESTORE_INTERVAL_MS = 1000;
