/*
 * Bounds of the stack as a whole. Those of one connection are in `tcp/`, those of fragments and of ICMP
 * beside them.
 */

/**
 * Bytes that all connections hold together, unread and unacknowledged. Above half of it no buffer grows any
 * more: many peers and readers that were fast and then rest cannot take 8 MiB for each connection. Beyond
 * it every connection is held to `LEAST_BUFFER` in each direction: what comes above that is dropped for
 * the peer to send again, and writers wait. So all connections go on, and a client that opens tens of
 * thousands and reads from none, or fills the gaps of none, takes this and 32 KiB for each.
 */
export const MAX_BUFFERED_BYTES = 512 * 1024 * 1024;

/**
 * Resets in response to segments for no connection, a second. Beyond it such segments are dropped without a
 * response: a peer whose connection is really gone sends another.
 */
export const STRAY_RESPONSES_A_SECOND = 1000;

/**
 * Bytes of payload that one connection sends before another one has its turn: a large segment, or a few
 * dozen plain ones.
 */
export const BYTES_A_TURN = 64 * 1024;

/** Bytes that all connections send in one turn of the event loop; the next turn goes on with the rest. */
export const SENT_BYTES_A_TURN = 1024 * 1024;

/**
 * Deadlines that are handled in one turn of the event loop, some microseconds each: 10,000 idle
 * connections may have theirs at the same time. The next turn goes on with the rest.
 */
export const TIMEOUTS_A_TURN = 1024;

/**
 * Connections that send again at once when their path is restored, and the milliseconds until the next ones
 * do: a thousand dials take a tenth of a second, and 65,536 connections five seconds.
 */
export const RESTORED_A_TURN = 64;
export const RESTORED_INTERVAL = 5;
/** Connections that are looked at for that in one turn, a microsecond each: most of many may be idle. */
export const SCANNED_A_TURN = 4096;

/** Datagrams that wait for the reader of an association; beyond it the newest is dropped and counted. */
export const MAX_QUEUED_DATAGRAMS = 256;
/** Their bytes: a queue of large datagrams must not hold 16 MiB. */
export const MAX_QUEUED_BYTES = 1024 * 1024;
/**
 * Bytes of the datagrams that wait in all associations together, with `DATAGRAM_OVERHEAD` for each. Beyond
 * it an association keeps `LEAST_QUEUED_BYTES`, so that others do not keep a query of DNS out.
 */
export const MAX_ALL_QUEUED_BYTES = 64 * 1024 * 1024;
export const LEAST_QUEUED_BYTES = 2048;
/** What a datagram in a queue costs beside its bytes. */
export const DATAGRAM_OVERHEAD = 256;

/**
 * The least limit of flows at which one gives way to another. A smaller one is a choice of the operator
 * for exactly that number of flows: at it new ones are dropped.
 */
export const LEAST_SHARED_FLOWS = 16;

/**
 * The part of all flows that connections leave to UDP associations: DNS has to be asked beside any number
 * of connections. With fewer than 128 flows it is none.
 */
export const LEFT_TO_UDP = 1 / 128;

/**
 * New associations a second that take the places of others, where there is no room: each costs sockets and
 * records, some 150 microseconds. Beyond it datagrams of new clients are dropped. Questions of DNS, which
 * need less, have as many beside.
 */
export const REPLACED_A_SECOND = 1000;

/**
 * How many times as many established connections a client has as another one, of which it gives way to a new
 * connection where there is no room. The other gets a sixteenth of them at most; one client alone loses none.
 */
export const FAR_MORE_CONNECTIONS = 16;

/**
 * The part of all connections that may be unestablished while established ones give way: a flood of SYNs from
 * forged addresses, each with no connection, ends no more than that.
 */
export const PENDING_BESIDE_ESTABLISHED = 1 / 16;

/**
 * Peers of an association whose addresses are kept in both forms, text and numbers. Another one takes
 * the place of one of them; each costs a conversion of some 200 ns.
 */
export const KNOWN_PEERS = 8;

/** The dynamic ports (RFC 6335 §6), from which own ones are chosen. */
export const FIRST_LOCAL_PORT = 49_152;
export const LAST_LOCAL_PORT = 65_535;
/**
 * Ports that are tried for a new connection, beginning at one that cannot be predicted (RFC 6056 §3.3).
 * Beyond it `connect` fails: nearly all are in use with this destination.
 */
export const PORT_ATTEMPTS = 1024;
/**
 * Those of them among which a port that nothing uses is preferred to one in TIME-WAIT. A client that makes
 * more than 16,384 connections a minute to one destination finds no other one, however long it searches.
 */
export const UNUSED_ATTEMPTS = 64;

/**
 * Bytes of a SYN that are kept until its request is decided, which an ICMP message then quotes. A larger
 * one, which nothing sends, is refused with a RST instead.
 */
export const MAX_QUOTED_SYN = 1500;

/**
 * Milliseconds that a connection goes on sending, without any progress, what was written before it was
 * released. Then it is reset, unless its peer is resting.
 */
export const LINGER = 30_000;
/**
 * The same for a peer that keeps its window closed and responds to the probes of it: a program that pauses.
 * Then it is reset all the same: a peer that never reads must not keep it. As long as a half-closed flow may
 * be idle before it is released (`HALF_CLOSED_IDLE_MS`).
 */
export const RESTING_LINGER = 300_000;

/** Bytes of the largest IP packet: the length fields have 16 bits. */
export const LARGEST_PACKET = 65_535;
