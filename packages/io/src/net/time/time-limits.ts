/**
 * Time limits that several protocols and layers share, in milliseconds. Limits of one protocol are in its own folder.
 */

/** Time for a client to authenticate and state its request. */
export const HANDSHAKE_MS = 10_000;

/** Time for a dial, including the handshake with an upstream proxy. */
export const DIAL_MS = 10_000;

/** Time without a byte from the server after which a shared dial starts another attempt in parallel. */
export const SILENT_ATTEMPT_MS = 2_000;

/** Time for a TLS handshake, on either side. */
export const TLS_HANDSHAKE_MS = 10_000;

/** Time to read a configuration that is not a file, such as standard input. */
export const CONFIG_STREAM_MS = 30_000;

/** Idle time after which the kernel sends keep-alive probes on a TCP connection. */
export const KEEP_ALIVE_DELAY_MS = 60_000;

/** Time without a byte in either direction after which a half-closed flow ends. */
export const HALF_CLOSED_IDLE_MS = 300_000;

/**
 * Data of a failed peer is passed on before the other side is reset: time for which the other side may accept nothing
 * of it.
 */
export const RESET_DELAY_MS = 5_000;

/** Time without a datagram after which a UDP flow, or an association as a whole, ends. */
export const UDP_IDLE_MS = 300_000;

/**
 * Time without a datagram after which an association ends whose peers were all DNS servers: a resolver sends one query.
 */
export const UDP_DNS_IDLE_MS = 10_000;

/** Time for which a header is delayed for the payload to be sent with it. */
export const FIRST_PAYLOAD_MS = 100;

/** Time for which a rejected client is read, so that a reset does not overtake the response. */
export const REJECTED_CLIENT_MS = 2_000;

const DNS_PORT = 53;

/** Returns the idle limit of datagrams to `port`. */
export const udpIdleMs = (port: number): number =>
  port === DNS_PORT ? UDP_DNS_IDLE_MS : UDP_IDLE_MS;
