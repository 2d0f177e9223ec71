/** Bounds that every kind of socket keeps, Node's and the kernel's alike. */

/** How long a peer may take to end its side after this side has ended, in milliseconds, */
export const SOCKET_LINGER_MS = 5_000;
/** and how many bytes it may send meanwhile. */
export const SOCKET_LINGER_BYTES = 1 << 20;

/**
 * Bytes of datagrams that the kernel is asked to hold while the event loop is busy: a burst of
 * several hundred full ones. The send buffer stays as it is, since more of it only delays what is
 * sent.
 */
export const UDP_RECEIVE_BUFFER = 1024 * 1024;

/** Datagrams that may wait when the kernel takes no more. */
export const MAX_UNSENT = 256;
/**
 * Their bytes, with what each costs beside its data: twice as many as 256 datagrams of a usual size have. At
 * the bound the newest are dropped.
 */
export const MAX_UNSENT_OF_SOCKET = 1024 * 1024;
/**
 * The same of all sockets of a thread, which share one uplink. Beyond it each keeps LEAST_UNSENT_BYTES, some
 * datagrams of a usual size.
 */
export const MAX_ALL_UNSENT_BYTES = 64 * 1024 * 1024;
export const LEAST_UNSENT_BYTES = 16 * 1024;

/** The largest UDP payload over IPv4 (RFC 768) and IPv6 (RFC 8200), without jumbograms. */
export const MAX_UDP_PAYLOAD = { 4: 65_507, 6: 65_527 } as const;
