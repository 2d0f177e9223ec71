/** Bounds of every kind of socket, Node's and the kernel's alike. */

/** Milliseconds that a peer may take to end its side after the link was destroyed. */
export const SOCKET_LINGER_MS = 5_000;
/** Bytes that a peer may send after the link was destroyed. */
export const SOCKET_LINGER_BYTES = 1 << 20;

/**
 * The receive buffer requested of the kernel, in bytes: a burst of several hundred full datagrams while
 * the event loop is busy. The send buffer is not changed: a larger one would only add delay.
 */
export const UDP_RECEIVE_BUFFER = 1024 * 1024;

/** Datagrams of one socket that may be queued while the kernel's buffer is full. */
export const MAX_UNSENT = 256;
/**
 * Memory in bytes of a socket's queued datagrams, with DATAGRAM_COST each: twice that of 256 datagrams of a usual size.
 * At the bound the newest are dropped.
 */
export const MAX_UNSENT_OF_SOCKET = 1024 * 1024;
/**
 * Memory in bytes of the queued datagrams of all sockets of a thread, which share one uplink. Beyond this bound each
 * socket still has LEAST_UNSENT_BYTES, a few datagrams of a usual size.
 */
export const MAX_ALL_UNSENT_BYTES = 64 * 1024 * 1024;
export const LEAST_UNSENT_BYTES = 16 * 1024;

/** The largest UDP payload over IPv4 (RFC 768) and IPv6 (RFC 8200), without jumbograms. */
export const MAX_UDP_PAYLOAD = { 4: 65_507, 6: 65_527 } as const;
