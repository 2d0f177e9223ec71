/*
 * The limits of QUIC: of memory and work, each with the effect of exceeding it, and its times.
 */

// ---- a connection ----

/**
 * The UDP payload in bytes that every path supports, and to which datagrams with Initial packets are padded (RFC 9000
 * §14.1).
 */
export const MIN_DATAGRAM = 1200;

/**
 * The largest UDP payload that path MTU discovery searches for, in bytes: an Ethernet frame with IPv4. The search finds
 * smaller limits, such as with IPv6.
 */
export const MAX_DATAGRAM = 1472;

/** The largest UDP payload that is received, in bytes: announced as max_udp_payload_size. */
export const MAX_RECEIVED_DATAGRAM = 65_527;

/** Milliseconds without a packet after which a connection ends, unless its settings say otherwise. */
export const IDLE_TIMEOUT = 30_000;
/** The time limit of a handshake, in milliseconds; beyond it the connection ends like an idle one. */
export const HANDSHAKE_TIMEOUT = 10_000;

/** The largest delay of an ACK in milliseconds: announced as max_ack_delay. */
export const MAX_ACK_DELAY = 25;

/**
 * Packets that arrived before their keys, and their bytes: kept for a round trip at the start of the
 * connection (RFC 9001 §5.7). Beyond either they are dropped, and the peer retransmits them.
 */
export const MAX_EARLY_PACKETS = 8;
export const MAX_EARLY_BYTES = 12_000;

/** Frames of one packet that are not counted as work: more than ordinary peers send. */
export const FREE_FRAMES_A_PACKET = 16;

/**
 * Ranges of an ACK frame that ordinary peers send, of which quic-go has 32 at most and others 64: they cost as much as
 * a frame by `ACK_RANGES_A_FRAME`, so that those of a lossy path are not dropped. Each one beyond counts as a frame.
 */
export const ORDINARY_ACK_RANGES = 64;
export const ACK_RANGES_A_FRAME = 8;

/**
 * Frames beyond `FREE_FRAMES_A_PACKET` that a peer may send in a turn of the event loop: after authentication,
 * and before. Each takes 50 to 300 ns. Beyond that its packets are dropped until the next turn.
 */
export const MAX_WORK_A_TURN = 4096;
export const UNAUTHENTICATED_WORK_A_TURN = 512;

/**
 * Frames that all peers of an endpoint together may send in a turn, and those that each of them may still send once
 * that number is reached.
 */
export const WORK_OF_ALL_A_TURN = 32_768;
export const PRESSED_WORK_A_TURN = 256;

/** The largest DATAGRAM payload for peers that use DATAGRAM frames without announcing them, in bytes. */
export const UNANNOUNCED_DATAGRAM_SIZE = 1200;

/** Bytes of the reason in CONNECTION_CLOSE, sent or received: it fits into every packet. */
export const MAX_REASON_BYTES = 512;

/**
 * Packets received in the closing state per CONNECTION_CLOSE sent: the initial value, which doubles (RFC 9000 §10.2.1).
 */
export const FIRST_CLOSE_INTERVAL = 1;
/** The upper bound of packets received per CONNECTION_CLOSE sent. */
export const MAX_CLOSE_INTERVAL = 1024;

/** Probe timeouts for which the closing and draining states last (§10.2). */
export const CLOSE_PROBE_TIMEOUTS = 3;

/** The longest token of NEW_TOKEN that is passed on, in bytes; longer ones are ignored. */
export const MAX_TOKEN_BYTES = 1024;

/**
 * Milliseconds without progress after which a stream that was released after its half-close is reset, although
 * bytes are unsent: a peer that reads nothing must not keep it alive.
 */
export const STREAM_LINGER = 30_000;

// ---- an endpoint ----

/**
 * Bytes of the connection ids that this endpoint issues. They are random: they reveal nothing,
 * and ids of one connection have nothing in common (RFC 9000 §5.1).
 */
export const LOCAL_ID_SIZE = 8;

/** The smallest datagram with an Initial packet of a client, in bytes; smaller ones are dropped (§14.1). */
export const MIN_INITIAL_DATAGRAM = 1200;

/** The shortest destination id that a client may choose, in bytes; shorter ones are dropped (§7.2). */
export const MIN_CLIENT_CHOSEN_ID = 8;

/**
 * Handshakes of clients whose address no token has validated: their number, and their largest share of all connections.
 * Beyond either, a client gets a Retry packet and returns with its token (§8.1.2).
 */
export const MAX_UNVALIDATED_HANDSHAKES = 64;
export const UNVALIDATED_PART = 1 / 4;

/**
 * Tokens of NEW_TOKEN that are remembered as used, so that each validates an address once (§8.1.4).
 * Beyond this number the oldest are forgotten, and could be reused within their hour, from the same address.
 */
export const MAX_USED_TOKENS = 16_384;

/**
 * Unauthenticated clients: handshakes in progress, and connections whose client has not authenticated itself; in total,
 * and of one source. Beyond either, another one is closed, or the Initial packet is dropped; the client retransmits it.
 */
export const MAX_UNAUTHENTICATED = 1024;
export const MAX_UNAUTHENTICATED_OF_SOURCE = 256;

/**
 * Milliseconds for which an unauthenticated client cannot be replaced by one of a source that has as many:
 * the time of a handshake and an authentication over a slow path.
 */
export const UNAUTHENTICATED_STAY = 2000;

/**
 * Datagrams of clients' handshakes that are served in one turn of the event loop, and milliseconds after which no
 * further one is begun: a new client costs some milliseconds with an RSA certificate, a Retry packet 50 µs. Later
 * datagrams wait for the next turn.
 */
export const HANDSHAKE_DATAGRAMS_A_TURN = 64;
export const HANDSHAKE_MS_A_TURN = 5;

/** Datagrams in the handshake queue, and their bytes. Beyond either they are dropped; clients retransmit. */
export const MAX_WAITING_DATAGRAMS = 512;
export const MAX_WAITING_BYTES = 1024 * 1024;

/**
 * Stateless resets per second to all peers together. Beyond this rate packets for unknown connections are dropped; a
 * peer whose connection is gone sends another one.
 */
export const RESETS_A_SECOND = 100;

/** The largest stateless reset, in bytes: more bytes would not make it harder to recognize. */
export const MAX_RESET_SIZE = 43;

/**
 * Connections that have ended and still respond to late packets with CONNECTION_CLOSE (§10.2). Beyond this number the
 * oldest one is released early; its peer then gets a stateless reset.
 */
export const MAX_CLOSING_CONNECTIONS = 1024;

/**
 * Connections to one address and port for which a datagram with an unknown id is checked for a stateless
 * reset. A client's port rarely has more than one connection.
 */
export const MAX_RESET_CANDIDATES = 16;

/**
 * Events of all connections of an endpoint that are handled in one turn of the event loop. Each may end a flow, and
 * some packets reset thousands of streams.
 */
export const EVENTS_A_TURN = 512;

/** Bytes that an endpoint sends in one turn of the event loop; the rest is sent in the next turn. */
export const SENT_BYTES_A_TURN = 512 * 1024;

/** The requested size of the kernel's receive and send buffers, in bytes; its own limits apply. */
export const SOCKET_BUFFER = 4 * 1024 * 1024;

/** Milliseconds for which a closed endpoint waits for room in its socket to send CONNECTION_CLOSE to all peers. */
export const CLOSE_TIMEOUT = 1000;

// ---- paths and connection ids ----

/**
 * Paths of a connection: the active one, the previous one, and two that the peer probes. A further path replaces the
 * oldest that is neither active nor the fallback.
 */
export const MAX_PATHS = 4;

/**
 * Unanswered PATH_CHALLENGE frames of one validation. A further one replaces the oldest, to which the response is
 * then ignored.
 */
export const MAX_CHALLENGES = 4;

/** PATH_RESPONSE frames queued on a path. A further one replaces the oldest: the peer sends another challenge. */
export const MAX_RESPONSES = 4;

/** Connection ids issued to the peer at a time, if its limit allows. */
export const MAX_LOCAL_IDS = 4;

/** Connection ids of the peer: active_connection_id_limit. One more is a CONNECTION_ID_LIMIT_ERROR. */
export const ACTIVE_CONNECTION_ID_LIMIT = 4;

/**
 * Unacknowledged RETIRE_CONNECTION_ID frames, at least twice `ACTIVE_CONNECTION_ID_LIMIT` (RFC 9000 §5.1.2). One more
 * is a CONNECTION_ID_LIMIT_ERROR.
 */
export const MAX_RETIREMENTS = 16;

// ---- streams and DATAGRAM frames ----

const KIB = 1024;
const MIB = 1024 * KIB;

/**
 * The window of a stream: its initial size, the size once its reader has kept up with that, and the largest size. It
 * starts small, because a stream that is never read holds no more than that. A peer that exceeds it gets
 * FLOW_CONTROL_ERROR.
 */
export const INITIAL_STREAM_WINDOW = 40 * KIB;
export const PROVEN_STREAM_WINDOW = 512 * KIB;
export const MAX_STREAM_WINDOW = 8 * MIB;

/** Bytes that a peer may send on all streams of a connection ahead of those received: initial and largest value. */
export const INITIAL_CONNECTION_WINDOW = 2 * MIB;
export const MAX_CONNECTION_WINDOW = 20 * MIB;

/**
 * Total bytes by which the windows of a connection's streams may exceed `INITIAL_STREAM_WINDOW`. Beyond that no window
 * grows until a stream with a large one has ended.
 */
export const MAX_WINDOW_GROWTH = 20 * MIB;

/**
 * Unread bytes of a connection: the growth, and the initial windows of 1,024 streams. Beyond that the peer may send
 * nothing until data is read: unread streams then stop the others.
 */
export const MAX_UNREAD = MAX_WINDOW_GROWTH + 1024 * INITIAL_STREAM_WINDOW;

/**
 * Bytes that a peer may send on all streams until it has authenticated itself (`authenticated`); they are not credited
 * back. Enough for requests of HTTP/3. No window grows until then.
 */
export const UNAUTHENTICATED_WINDOW = 64 * KIB;

/*
 * Gaps in the received data have no bound of their own: their cost is linear in the bytes received
 * (`StreamReassembly`).
 */

/**
 * Streams of each kind that a peer may have open, unless the protocol above allows more. A peer that
 * opens more gets STREAM_LIMIT_ERROR.
 */
export const MAX_BIDIRECTIONAL_STREAMS = 100;
export const MAX_UNIDIRECTIONAL_STREAMS = 16;

/**
 * Streams by which the limit exceeds those that the peer has opened, where more may be open at once: a single frame
 * opens all streams up to its own. The limit rises with the streams that it opens.
 */
export const STREAMS_AHEAD = 1024;

/**
 * Unsent bytes of a stream above which `write` returns false, and below which its caller may write again. No more is
 * queued than the peer's limit of the stream permits: a stream that its peer does not read holds the last chunk that
 * was written and `SEND_LEAST`.
 */
export const SEND_HIGH_WATER = 256 * KIB;
export const SEND_LOW_WATER = 64 * KIB;

/** Bytes that may be queued regardless of the peer's limit, so that requests and responses never wait. */
export const SEND_LEAST = 16 * KIB;

/**
 * Total unsent bytes of all streams of a connection. Beyond that each stream holds its last chunk and `SEND_LEAST`:
 * longer queues of many streams make none of them faster.
 */
export const SEND_SHARED = 2 * MIB;

/**
 * Bytes of new data that a stream sends before it is the next one's turn. With longer turns a receiver gets data of
 * fewer streams at once, each of which costs it a read and a write; a turn of 32 streams takes 42 ms at 100 Mbit/s. A
 * stream that had nothing to send before does not wait for its turn.
 */
export const STREAM_TURN = 16 * KIB;

/** DATAGRAM frames, and their bytes, that are queued in one direction; beyond either the newest is dropped. */
export const MAX_QUEUED_DATAGRAMS = 1024;
export const MAX_QUEUED_DATAGRAM_BYTES = MIB;

// ---- loss recovery and acknowledgements ----

/**
 * Initial capacity for the sent packets of one space; it doubles when needed. An idle connection has no more
 * than a few in flight.
 */
export const FIRST_PACKET_CAPACITY = 8;

/**
 * The most sent packets of one space that are remembered: 75 MB of 1,200-byte packets, the window of 1 Gbit/s
 * at 600 ms. At the bound only probes may be sent (`LossDetection.canSend`); when there is no room for those
 * either, the oldest packet is declared lost.
 */
export const MAX_PACKETS = 1 << 16;

/** The part of `MAX_PACKETS` that is reserved for probes and acknowledgements. */
export const RESERVED_PACKETS = 64;

/** Initial capacity for the sent frames of one space. */
export const FIRST_FRAME_CAPACITY = 16;

/** Capacity above which memory is freed once no frame or packet is recorded. */
export const KEPT_CAPACITY = 1024;

/**
 * The most sent frames of one space that are remembered: four for each packet, 8 MB. At the bound no further
 * packet may be sent (`LossDetection.canSend`).
 */
export const MAX_FRAMES = 1 << 18;

/** The most frames of one packet that are remembered; at the bound no further frame is written into it. */
export const MAX_FRAMES_PER_PACKET = 256;

/**
 * The most ranges of received packets that are remembered and reported in an ACK frame. Beyond this number the oldest
 * range is forgotten: the peer retransmits its packets unless they were acknowledged before.
 */
export const MAX_ACK_RANGES = 64;

/** Initial capacity for ranges of received packets; it doubles when needed. */
export const FIRST_ACK_RANGES = 4;

/** Packet numbers, up to the newest, in which duplicates are detected; older packets are dropped. */
export const DUPLICATE_WINDOW = 4096;

/**
 * Packets in a row that are not ack-eliciting, after which the next one should have a PING
 * (`LossDetection.wantsPing`), so that both sides can forget what was acknowledged.
 */
export const PINGLESS_PACKETS = 32;
