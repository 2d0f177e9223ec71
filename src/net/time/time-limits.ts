/**
 * Time limits that several protocols and layers share, in milliseconds. Limits of one protocol are
 * in its own folder.
 */

/** A client may take this long to authenticate and state its request. */
export const HANDSHAKE_MS = 10_000;

/** A dial may take this long, the handshake with an upstream proxy included. */
export const DIAL_MS = 10_000;

/** Time without a response to any attempt of a shared dial after which another attempt is started. */
export const SILENT_ATTEMPT_MS = 2_000;

/** A TLS handshake may take this long, on either side. */
export const TLS_HANDSHAKE_MS = 10_000;

/** A configuration that is not a file, such as standard input, may take this long to be written. */
export const CONFIG_STREAM_MS = 30_000;

/** Idle time after which the kernel sends keep-alive probes on a TCP connection. */
export const KEEP_ALIVE_DELAY_MS = 60_000;

/** A half-closed flow ends after this long without a byte in either direction. */
export const HALF_CLOSED_IDLE_MS = 300_000;

/** Datagrams to or from a peer, or an association as a whole, end after this long without one. */
export const UDP_IDLE_MS = 300_000;

/** The same if every peer was a DNS server: a query has one response. */
export const UDP_DNS_IDLE_MS = 10_000;

/** A header may wait this long for the payload to be sent with it. */
export const FIRST_PAYLOAD_MS = 100;

/** A client that was rejected is read this long, so that a reset does not overtake the response. */
export const REJECTED_CLIENT_MS = 2_000;

const DNS_PORT = 53;

/** The idle limit of datagrams to `port`. */
export const udpIdleMs = (port: number): number =>
  port === DNS_PORT ? UDP_DNS_IDLE_MS : UDP_IDLE_MS;
