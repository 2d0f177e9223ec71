/** Time and size limits of carriers, which limit the resources that a peer can use. */

/** Milliseconds allowed for a WebSocket upgrade or the HTTP/2 preface, on either side. */
export const UPGRADE_MS = 10_000;
/**
 * Limits of connections and tunnels whose clients have not authenticated, for all inbounds together and for one source
 * address. Beyond either the oldest client of the source with the most clients is disconnected. A silent tunnel uses 7
 * KB, a TLS connection up to 50 KB.
 */
export const UNAUTHENTICATED_LIMIT = 8192;
export const UNAUTHENTICATED_SHARE = 4096;
/**
 * The fraction of file descriptors that unauthenticated clients may use; a single source may use half of it. Each
 * client may soon need another descriptor for its destination, and listeners stop accepting when none is left.
 */
export const UNAUTHENTICATED_PART = 1 / 4;
/** Milliseconds after which an HTTP/2 connection without an authenticated tunnel is closed. */
export const FIRST_TUNNEL_MS = 10_000;
/**
 * Limit of concurrent tunnels of an HTTP/2 connection without an authenticated tunnel: announced in SETTINGS; further
 * ones are refused with REFUSED_STREAM. Clients in Go open no more before they have received the server's limit, and
 * wait, or use another connection, until it is raised.
 */
export const UNPROVEN_TUNNELS = 100;
/** Milliseconds after which a shared connection without tunnels is closed. */
export const IDLE_CONNECTION_MS = 300_000;
/** Milliseconds of silence after which a shared connection is probed before it is used for another tunnel. */
export const REUSE_SILENCE_MS = 15_000;
/** Milliseconds that the server has to respond to the probe before a connection is reused. */
export const REUSE_PROBE_MS = 5_000;
/**
 * Milliseconds of silence after a request or a datagram after which a shared connection is probed, and that the server
 * has to respond; otherwise the connection gets no more requests or datagrams. Several round trips of any usual path;
 * both periods together are shorter than a program waits for a new connection.
 */
export const REQUEST_SILENCE_MS = 3_000;
export const REQUEST_PROBE_MS = 3_000;
/** Milliseconds of silence after which a shared connection is probed in any case. */
export const PROBE_INTERVAL_MS = 30_000;
/** Milliseconds without a response to a periodic probe after which the connection is closed. */
export const PROBE_RESPONSE_MS = 10_000;
/** Milliseconds allowed for sending the last frame of a closed link. */
export const CARRIER_LINGER_MS = 5_000;
/**
 * Milliseconds after the client has ended its side for which its Close frame is delayed while the server sends nothing.
 * Programs other than Weir end both sides of a WebSocket when they receive a Close frame, and their remaining data is
 * lost; so the client sends it once the server has ended its side or this time has elapsed.
 */
export const CLOSE_HOLD_MS = 2_000;
/**
 * Milliseconds that a server waits before it sends its Close frame: when it arrives, v2ray's clients discard data in
 * transit to their applications, up to 512 KB.
 */
export const CLOSE_PAUSE_MS = 100;
/**
 * Milliseconds of silence after a Close frame after which a peer other than Weir is assumed to ignore it, and is
 * disconnected.
 */
export const CLOSE_SILENCE_MS = 10_000;
/**
 * Milliseconds between two activity checks of a WebSocket. A client sends a Ping if nothing was sent or received since
 * the last check, after 15 to 30 s of silence, a server one check later.
 */
export const KEEP_ALIVE_LOOK_MS = 15_000;
/** Limit of shared connections to one server; the flows of a process need fewer. */
export const CONNECTION_LIMIT = 256;

/**
 * Limit of reads per turn of the event loop on `grpc` connections of an inbound without an authenticated tunnel. Each
 * read may open, refuse or reset some 16 tunnels, which takes up to 2 ms; other reads are deferred to the next turns.
 */
export const UNPROVEN_READS_A_TURN = 8;

/**
 * Limit of TLS handshake flights that a server, and that all clients of this process, process per turn of the event loop,
 * each 0.5 to 1 ms: clients whose first bytes arrive at the same time, and dials that flows of one client have begun, would
 * otherwise delay all others.
 */
export const FLIGHTS_A_TURN = 16;
