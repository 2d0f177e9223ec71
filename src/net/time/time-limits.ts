/**
 * Time limits that several protocols and layers share, in milliseconds. Limits of one protocol are
 * in its own folder.
 */

/** A client may take this long to authenticate and state its request. */
export const HANDSHAKE_MS = 10_000;

/** A dial may take this long, the handshake with an upstream proxy included. */
export const DIAL_MS = 10_000;

/** After this long without a byte from the server, a dial that flows share makes another attempt in parallel. */
export const SILENT_ATTEMPT_MS = 2_000;

/** A TLS handshake may take this long, on either side. */
export const TLS_HANDSHAKE_MS = 10_000;

/** A configuration that is not a file, such as standard input, may take this long to be written. */
export const CONFIG_STREAM_MS = 30_000;

/** Idle time after which the kernel sends keep-alive probes on a TCP connection. */
export const KEEP_ALIVE_DELAY_MS = 60_000;

/** A half-closed flow ends after this long without a byte in either direction. */
export const HALF_CLOSED_IDLE_MS = 300_000;

/**
 * What a peer sent before its connection failed is passed on before the other side is reset; that side may
 * take nothing of it for this long.
 */
export const RESET_DELAY_MS = 5_000;

/** A UDP flow, or an association as a whole, ends after this long without a datagram. */
export const UDP_IDLE_MS = 300_000;

/** The idle limit when every peer was a DNS server: a resolver sends one query. */
export const UDP_DNS_IDLE_MS = 10_000;

/** A header may wait this long for the payload to be sent with it. */
export const FIRST_PAYLOAD_MS = 100;

/** A rejected client is read for this long, so that a reset does not overtake the response. */
export const REJECTED_CLIENT_MS = 2_000;

const DNS_PORT = 53;

/** The idle limit of datagrams to `port`. */
export const udpIdleMs = (port: number): number =>
  port === DNS_PORT ? UDP_DNS_IDLE_MS : UDP_IDLE_MS;
