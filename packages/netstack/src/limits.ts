/*
 * The limits of the stack: of its memory and work, and the times of its protocols.
 */

// ---- the stack as a whole ----

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
 * Requests of clients, connections and associations together, that are passed on in one turn of the event loop: each
 * begins a dial, and costs 0.2 ms, with TLS a millisecond. The rest waits for the next turns, while packets of all flows are
 * read: a turn without requests takes a millisecond.
 */
export const REQUESTS_A_TURN = 8;

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
 * Associations of clients that have carried a query and its response at most, in all and of one client: more than gateways
 * of large networks have. Beyond either number a new one replaces one of them, within `REPLACED_A_SECOND`. Each takes
 * 10 KB with its socket, 50 KB with the connection to a proxy.
 */
export const MAX_BRIEF_ASSOCIATIONS = 4096;
export const MAX_BRIEF_OF_CLIENT = 2048;

/**
 * New associations per second that replace others at a limit: each costs sockets and records, some 150 microseconds, or the
 * start of a dial and the abort of another. Beyond this rate datagrams of new associations are dropped, except those of a
 * client that has far fewer than another. DNS queries, which cost less, have a separate limit.
 */
export const REPLACED_A_SECOND = 250;
export const REPLACED_QUERIES_A_SECOND = 1000;

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

// ---- below TCP and UDP: fragments, ICMP, path MTUs ----

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

// ---- a TCP connection ----

/** The window scale of this side: 64 KiB times 128 is above the largest receive buffer of 4 MiB. */
export const OWN_WINDOW_SCALE = 7;
/** The largest window without scaling: in a SYN, and with peers that do not support the option. */
export const MAX_UNSCALED_WINDOW = 65_535;

/** The MSS of peers that send no MSS option (RFC 9293 §3.7.1); the same for IPv4 and IPv6. */
export const DEFAULT_MSS = 536;
/**
 * The smallest MSS that is used: with less, a peer could turn every chunk into thousands of packets. Linux
 * has the same bound (`TCP_MIN_SND_MSS`), which leaves room for options.
 */
export const MIN_MSS = 48;

/** Milliseconds until a SYN or SYN-ACK is first retransmitted (RFC 6298 §2.1); doubles each time. */
export const FIRST_HANDSHAKE_TIMEOUT = 1000;
/** The longest time between two retransmissions of a SYN or SYN-ACK, in milliseconds. */
export const MAX_HANDSHAKE_TIMEOUT = 60_000;
/** Retransmissions of a SYN: the last one after 63 seconds, and a minute later the connection fails. */
export const SYN_RETRIES = 6;
/** Retransmissions of a SYN-ACK. Fewer, because a client that does not respond occupies the backlog. */
export const SYN_ACK_RETRIES = 5;

/** The longest delay of an ACK in milliseconds (RFC 9293 §3.8.6.3: MUST be less than 500). */
export const MAX_ACK_DELAY = 40;

/** Data segments at the start of a connection that are acknowledged at once, as in Linux. */
export const QUICK_ACKS = 16;
/** Duplicate ACKs sent in one turn: a peer without SACK detects a loss by three (RFC 5681 §3.2). */
export const MAX_DUPLICATE_ACKS = 4;

/**
 * Milliseconds until the first probe of a zero window if no round trip was measured. Otherwise the time is the
 * retransmission timeout (RFC 9293 §3.8.6.1), and at least `LEAST_WINDOW_PROBE`. Doubles each time.
 */
export const FIRST_WINDOW_PROBE = 1000;
export const LEAST_WINDOW_PROBE = 200;
/** The longest time between two probes of a window, in milliseconds. */
export const MAX_WINDOW_PROBE = 60_000;

/** Milliseconds without a segment of the peer until the first keep-alive probe (RFC 9293 §3.8.4). */
export const KEEP_ALIVE_IDLE = 60_000;
/** Milliseconds between keep-alive probes without a response. */
export const KEEP_ALIVE_INTERVAL = 10_000;
/** Probes without a response after which the connection has failed. */
export const KEEP_ALIVE_PROBES = 6;

/**
 * The user timeout: milliseconds that data, a FIN or a window probe may remain unacknowledged (RFC 9293
 * §3.8.3 leaves it to the application; Linux gives up after 15 retransmissions, some 15 minutes).
 */
export const USER_TIMEOUT = 5 * 60_000;

/** Milliseconds of TIME-WAIT: twice a maximum segment lifetime of 30 seconds, as in Linux (RFC 9293 §3.4.2). */
export const TIME_WAIT = 60_000;
/**
 * Milliseconds in TIME-WAIT after which this side may reuse the ports, if timestamps are in use: the longest
 * tick of a peer's timestamp clock (RFC 7323 §5.4).
 */
export const REUSE_DELAY = 1000;
/** Connections in TIME-WAIT. Beyond this number the oldest is removed early. Each takes some 200 bytes. */
export const MAX_TIME_WAIT = 32_768;

/**
 * Challenge ACKs of one connection within `CHALLENGE_INTERVAL` (RFC 5961 §7). Counted per connection, so that
 * an attacker learns nothing about others from it (CVE-2016-5696). Beyond this number such segments get no response.
 */
export const MAX_CHALLENGE_ACKS = 10;
/** Milliseconds over which challenge ACKs are counted. */
export const CHALLENGE_INTERVAL = 1000;
/** Milliseconds between two ACKs in reply to segments outside the window, or to stray ones in TIME-WAIT. */
export const STRAY_ACK_INTERVAL = 100;

/** Milliseconds after which TS.Recent is invalid (RFC 7323 §5.5): 24 days. */
export const TIMESTAMP_LIFETIME = 24 * 24 * 3600 * 1000;

/**
 * Connections of a stack, and of one client address, that are not yet established: their dial is in progress,
 * or their SYN-ACK is not acknowledged. At the limit a connection is displaced: see `ListenBacklog`.
 */
export const MAX_BACKLOG = 4096;
export const MAX_BACKLOG_PER_ADDRESS = 2048;
/**
 * Connections displaced per second in favour of others without priority, such as those of the same client to
 * the same network: each costs the start of one dial and the abort of another, up to a millisecond in all.
 * Beyond this rate SYNs are dropped, and clients retransmit them.
 */
export const DISPLACED_A_SECOND = 250;
/**
 * Ratio that gives a new dial priority: of the dials of the same client to another network, to those to the network of
 * the new one.
 */
export const FAR_MORE_DIALS = 8;

// ---- buffers of a TCP connection ----

const KIB = 1024;
const MIB = 1024 * KIB;

/**
 * Bytes of a send buffer, queued and in flight: initial and maximum. In between the buffer is twice the congestion
 * window: one window is in flight while the next one is queued.
 */
export const FIRST_SEND_BUFFER = 256 * KIB;
export const MAX_SEND_BUFFER = 4 * MIB;
/** Bytes that each chunk counts beyond its data, so that the memory of tiny chunks is bounded as well. */
export const CHUNK_OVERHEAD = 128;

/**
 * Bytes of a receive window: initial and maximum. The window doubles while a reader that keeps up takes at least half
 * of it in a round trip.
 */
export const FIRST_RECEIVE_WINDOW = 256 * KIB;
export const MAX_RECEIVE_WINDOW = 4 * MIB;
/**
 * The shortest round trip assumed for the growth of the window, in milliseconds: on one host a read waits for the
 * reader's turn.
 */
export const LEAST_GROWTH_INTERVAL = 5;

/**
 * Bytes that a connection may hold in each direction when the shared memory is used up: ten packets in flight,
 * which is still fast on the path to a local device.
 */
export const LEAST_BUFFER = 16 * KIB;

/**
 * Ranges of out-of-order data. A segment that would start another one is dropped, and the sender retransmits
 * it. A path that loses every second packet of a window has a few hundred.
 */
export const MAX_RANGES = 512;
/** Bytes of a block of out-of-order data; blocks start at multiples of this. */
export const OUT_OF_ORDER_BLOCK = 16 * KIB;

/** Bytes of a block of in-order data: as much as is received between two reads, within these bounds. */
export const LEAST_BLOCK = 256;
export const MOST_BLOCK = 64 * KIB;

// ---- loss recovery of a TCP connection; times in milliseconds ----

/**
 * Segments in the retransmission queue beyond which no new data is sent until an acknowledgement arrives; each has up
 * to 64 KiB. SACK blocks and retransmissions divide them further, but only at multiples of the MSS, so that
 * `MAX_OUTSTANDING_SEGMENTS` bounds their number.
 */
export const MAX_SEGMENTS = 6144;
/** SND.NXT - SND.UNA as a multiple of the MSS: there are then at most twice `MAX_SEGMENTS`. */
export const MAX_OUTSTANDING_SEGMENTS = MAX_SEGMENTS;

/**
 * The initial capacity of the retransmission queue, which doubles. An idle connection has few segments, and columns of
 * this length are allocated in V8's heap.
 */
export const FIRST_SEGMENT_CAPACITY = 4;
/** Queues with a larger capacity are released when nothing is outstanding. */
export const KEPT_SEGMENT_CAPACITY = 32;

/** The retransmission timeout before the round trip is known (RFC 6298 §2.1), and after a lost SYN (§5.7). */
export const INITIAL_TIMEOUT = 1000;
export const TIMEOUT_AFTER_LOST_SYN = 3000;
/**
 * The minimum that the timeout adds to the smoothed round trip. RFC 6298 §2.4 requires one second in total. As in
 * Linux, this covers a peer's delayed ACK, and spurious timeouts are undone.
 */
export const LEAST_TIMEOUT_MARGIN = 200;
/** The longest timeout (RFC 6298 §2.5). */
export const MAX_TIMEOUT = 60_000;

/** DupThresh: duplicate ACKs, or segments reported by SACK, that indicate a loss (RFC 5681 §3.2). */
export const DUPLICATE_THRESHOLD = 3;

/** The shortest probe timeout: timers have a resolution of a millisecond, and hosts pause. */
export const LEAST_PROBE_WAIT = 10;
/** The probe timeout before the round trip is known (RFC 8985 §7.2). */
export const FIRST_PROBE_WAIT = 1000;
/** TLP.max_ack_delay: added if one segment is in flight, whose ACK the peer may delay (RFC 8985 §7.2). */
export const WORST_ACK_DELAY = 200;

/** The tick of the timestamp clock in milliseconds (RFC 7323 §5.4). */
export const TIMESTAMP_TICK = 1;
