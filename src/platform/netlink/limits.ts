/**
 * Destinations whose device is remembered, at most one entry each of about 100 bytes. At the limit the
 * one that was found first is forgotten; it costs one question to the kernel when it is used again.
 */
export const MOST_REMEMBERED = 4096;

/**
 * Routes of the system that are kept, about 400 bytes each. Routes beyond it are not looked at: what
 * only they lead to leaves by a shorter prefix, or not at all while a device of this process covers it.
 */
export const MOST_ROUTES = 65_536;

/** Rules of policy routing that are kept of each family; rules beyond it are not looked at. */
export const MOST_RULES = 1024;

/**
 * Datagrams of netlink taken in one turn of the event loop, each of at most 32 KB, or about 250 routes.
 * What is left comes with the next turn.
 */
export const READS_A_TURN = 16;

/** Bytes of notifications that the kernel may keep for this process; beyond it they are lost (ENOBUFS). */
export const NOTIFICATIONS_KEPT = 1 << 20;

/**
 * Milliseconds between the beginnings of two lists of all routes: a flood of changes, or of errors,
 * costs no more than one list in this time.
 */
export const LIST_INTERVAL_MS = 250;

/**
 * Milliseconds between two times at which remembered destinations are forgotten in a flood of route
 * changes: each destination in use is asked for no more often than that.
 */
export const FORGET_INTERVAL_MS = 200;

/**
 * Times that they are forgotten at once before that: what a person or a daemon changes together, a link that
 * goes down and comes again with its routes, counts for the next flow.
 */
export const FORGOTTEN_AT_ONCE = 8;

/** Milliseconds between two restorations of one device, where another program keeps changing it. */
export const RESTORE_INTERVAL_MS = 1000;
