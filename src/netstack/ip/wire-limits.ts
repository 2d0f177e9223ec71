/** Bounds of the state below TCP and UDP, each with the effect of reaching it. */

/**
 * Milliseconds from the arrival of the first fragment of a datagram to that of the last, as in Linux; RFC 8200
 * §4.5 has 60 s. After that the datagram is dropped, with a "time exceeded" if the fragment at offset 0 was
 * received.
 */
export const REASSEMBLY_TIMEOUT_MS = 30_000;

/**
 * Incomplete datagrams, including invalid ones that have not expired. Beyond this number the oldest one is dropped. A
 * fragment is compared with each of them.
 */
export const MAX_INCOMPLETE_DATAGRAMS = 256;

/** Incomplete datagrams of one source address. Beyond this number the oldest one of this source is dropped. */
export const MAX_INCOMPLETE_FROM_SOURCE = 128;

/**
 * Bytes held in fragments, with `FRAGMENT_OVERHEAD` for each, as in Linux. Beyond this bound the oldest datagrams are
 * dropped.
 */
export const MAX_FRAGMENT_BYTES = 4 * 1024 * 1024;

/** Bytes held in fragments of one source address. Beyond this bound the oldest datagrams of this source are dropped. */
export const MAX_FRAGMENT_BYTES_FROM_SOURCE = 2 * 1024 * 1024;

/** Bytes of memory that a fragment takes beside its data, so that many small ones are counted as well. */
export const FRAGMENT_OVERHEAD = 256;

/**
 * Fragments of a datagram: the largest one has 119 at an MTU of 576, which every IPv4 host must accept. Beyond this
 * number the datagram is dropped.
 */
export const MAX_FRAGMENTS_OF_DATAGRAM = 128;

/** ICMP errors per second to all addresses, and in a burst. Beyond this rate none is sent. */
export const ICMP_ERRORS_A_SECOND = 1000;

/**
 * ICMP errors per second to one address, such as that of a program that tries one unreachable destination after
 * another.
 */
export const ICMP_ERRORS_TO_ADDRESS_A_SECOND = 200;

/** Buckets of the limit of ICMP errors by address; addresses of the same bucket share it. */
export const ICMP_ADDRESS_BUCKETS = 256;

/** Destinations with a path MTU below the device's. Beyond this number the oldest one is removed. */
export const MAX_PATH_MTUS = 1024;

/** Milliseconds after which a path MTU may have increased (RFC 1191 §6.3). */
export const PATH_MTU_LIFETIME_MS = 600_000;

/**
 * The smallest path MTU of IPv4 that is accepted, in bytes: `min_pmtu` of Linux. No link in use has a smaller
 * one, and a forged message would make a connection send tiny segments.
 */
export const MIN_PATH_MTU_IPV4 = 552;
