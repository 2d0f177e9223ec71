/*
 * Bounds of what is kept between packets below TCP and UDP, each with what happens when it is reached.
 */

/**
 * Milliseconds from the first fragment that came of a datagram until the others must be there; Linux
 * waits as long. RFC 8200 §4.5 allows up to 60 s. The datagram is then dropped, with a "time exceeded"
 * where its first fragment is known.
 */
export const REASSEMBLY_TIMEOUT_MS = 30_000;

/**
 * Incomplete datagrams, those included that are known to be invalid and wait for their end. Beyond it the
 * oldest one is dropped. The number is also what a fragment is compared with.
 */
export const MAX_INCOMPLETE_DATAGRAMS = 256;

/** Incomplete datagrams of one source address. Beyond it the oldest one of this source is dropped. */
export const MAX_INCOMPLETE_FROM_SOURCE = 128;

/**
 * Bytes held in fragments, with what each costs beside its data: what Linux allows itself. Beyond it the
 * oldest datagrams are dropped.
 */
export const MAX_FRAGMENT_BYTES = 4 * 1024 * 1024;

/** The same of one source address. Beyond it the oldest datagrams of this source are dropped. */
export const MAX_FRAGMENT_BYTES_FROM_SOURCE = 2 * 1024 * 1024;

/** What a fragment costs beside its data, in bytes, so that many small ones are counted as they are. */
export const FRAGMENT_OVERHEAD = 256;

/**
 * Fragments of a datagram: the largest datagram at an MTU of 576, the least that every IPv4 host must
 * take, has 119. Beyond it the datagram is dropped.
 */
export const MAX_FRAGMENTS_OF_DATAGRAM = 128;

/** ICMP errors a second to all addresses, and as many at once. Beyond it nothing is reported. */
export const ICMP_ERRORS_A_SECOND = 1000;

/** The same to one address: a program that tries one unreachable destination after another. */
export const ICMP_ERRORS_TO_ADDRESS_A_SECOND = 200;

/** Buckets of the limit above; addresses of the same bucket share it. */
export const ICMP_ADDRESS_BUCKETS = 256;

/** Destinations with a path MTU below the device's. Beyond it the oldest one is forgotten. */
export const MAX_PATH_MTUS = 1024;

/** Milliseconds after which a path may have become wider (RFC 1191 §6.3). */
export const PATH_MTU_LIFETIME_MS = 600_000;

/**
 * The smallest path MTU of IPv4 that is believed, in bytes: `min_pmtu` of Linux. No link in use is as
 * narrow, and a forged message would make a connection send tiny segments.
 */
export const MIN_PATH_MTU_IPV4 = 552;
