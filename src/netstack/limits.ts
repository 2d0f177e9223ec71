/*
 * Bounds of the stack as a whole. Bounds of one connection are in `tcp/limits.ts`, those of fragments and ICMP in
 * `ip/wire-limits.ts`.
 */

/**
 * Bytes that all connections hold together, unread and unacknowledged. Above half of this no buffer grows: many fast
 * peers or readers that pause cannot use 8 MiB for each connection. Above this every connection is limited to
 * `LEAST_BUFFER` in each direction: the excess is dropped for the peer to retransmit, and writers wait. All connections
 * thus make progress, and a client that opens tens of thousands and reads from none, or leaves gaps in all, uses this
 * and 32 KiB for each.
 */
export const MAX_BUFFERED_BYTES = 512 * 1024 * 1024;

/**
 * Resets per second in response to segments for no connection. Beyond this rate such segments are dropped without a
 * response: a peer with a lost connection retransmits.
 */
export const STRAY_RESPONSES_A_SECOND = 1000;

/**
 * Bytes of payload that one connection sends before the next one has its turn: one large segment, or a few dozen of the
 * MSS.
 */
export const BYTES_A_TURN = 64 * 1024;

/** Bytes that all connections send in one turn of the event loop; the next turn continues. */
export const SENT_BYTES_A_TURN = 1024 * 1024;

/**
 * Deadlines that are handled in one turn of the event loop, some microseconds each: 10,000 idle connections may reach
 * theirs at the same time. The next turn continues.
 */
export const TIMEOUTS_A_TURN = 1024;

/**
 * Connections that retransmit together when their path is restored, and milliseconds until the next ones: a
 * thousand dials take a tenth of a second, and 65,536 connections five seconds.
 */
export const RESTORED_A_TURN = 64;
export const RESTORED_INTERVAL = 5;
/** Connections examined in one turn when paths are restored, a microsecond each: most may be idle. */
export const SCANNED_A_TURN = 4096;

/** Datagrams queued for the reader of an association; beyond this number the newest is dropped and counted. */
export const MAX_QUEUED_DATAGRAMS = 256;
/** Bytes queued for the reader of an association: a queue of large datagrams must not hold 16 MiB. */
export const MAX_QUEUED_BYTES = 1024 * 1024;
/**
 * Bytes of the datagrams queued in all associations together, with `DATAGRAM_OVERHEAD` for each. Beyond this an
 * association still has `LEAST_QUEUED_BYTES`, so that others cannot displace a DNS query.
 */
export const MAX_ALL_QUEUED_BYTES = 64 * 1024 * 1024;
export const LEAST_QUEUED_BYTES = 2048;
/** Bytes of memory that a queued datagram takes beside its payload. */
export const DATAGRAM_OVERHEAD = 256;

/**
 * The smallest limit of flows at which flows are evicted for others. A smaller limit is an operator's choice of exactly
 * that number: new flows are then dropped.
 */
export const LEAST_SHARED_FLOWS = 16;

/**
 * The share of all flows that is reserved for UDP associations: DNS has to work beside any number of connections. Below
 * 128 flows none is.
 */
export const LEFT_TO_UDP = 1 / 128;

/**
 * New associations per second that replace others at the limit: each costs sockets and records, some 150 microseconds.
 * Beyond this rate datagrams of new clients are dropped. DNS queries, which cost less, have a separate limit of the
 * same size.
 */
export const REPLACED_A_SECOND = 1000;

/**
 * Ratio of established connections at which, at the limit, a client loses one to another client. The other gets a
 * sixteenth at most; a client that is alone loses none.
 */
export const FAR_MORE_CONNECTIONS = 16;

/**
 * The share of all connections that may be in their handshake while established ones are evicted: a flood of SYNs from
 * forged addresses, none of which has a connection, ends no more than that.
 */
export const PENDING_BESIDE_ESTABLISHED = 1 / 16;

/**
 * Peers of an association whose addresses are kept as text and as numbers. Another one replaces one of them;
 * each costs a conversion of some 200 ns.
 */
export const KNOWN_PEERS = 8;

/** The first of the dynamic ports (RFC 6335 §6), from which own ports are chosen. */
export const FIRST_LOCAL_PORT = 49_152;
export const LAST_LOCAL_PORT = 65_535;
/**
 * Ports that are tried for a new connection, from an unpredictable one on (RFC 6056 §3.3). After that `connect` fails:
 * nearly all are in use with this destination.
 */
export const PORT_ATTEMPTS = 1024;
/**
 * Ports among which an unused one is preferred to one in TIME-WAIT. A client that makes more than 16,384
 * connections a minute to one destination finds no unused one, however long it searches.
 */
export const UNUSED_ATTEMPTS = 64;

/**
 * Bytes of a SYN that are kept until its request is decided, for an ICMP message to quote. A larger SYN, which no stack
 * sends, is refused with a RST instead.
 */
export const MAX_QUOTED_SYN = 1500;

/**
 * Milliseconds without progress after which a released connection that has unsent data is reset, unless its peer keeps
 * the window closed.
 */
export const LINGER = 30_000;
/**
 * Milliseconds after which a released connection is reset whose peer keeps its window closed but acknowledges window
 * probes: a program that pauses. A peer that never reads must not keep the connection. Equals the time that a
 * half-closed flow may be idle before it is released (`HALF_CLOSED_IDLE_MS`).
 */
export const RESTING_LINGER = 300_000;

/** Bytes of the largest IP packet: the length fields have 16 bits. */
export const LARGEST_PACKET = 65_535;
