/** Time and size limits of carriers; each bounds what a peer may cost. */

/** A WebSocket upgrade or the preface of HTTP/2 may take this long, on either side. */
export const UPGRADE_MS = 10_000;
/**
 * Connections and tunnels whose clients have not authenticated, of all inbounds together and of one
 * source; beyond either the oldest is disconnected, of the source that has the most. A silent tunnel
 * takes 7 KB, a connection with TLS up to 50 KB.
 */
export const UNAUTHENTICATED_LIMIT = 8192;
export const UNAUTHENTICATED_SHARE = 4096;
/**
 * The part of the descriptors that they may use, and one source half of that: each may soon need another
 * one for its destination, and listeners stop accepting when none is left.
 */
export const UNAUTHENTICATED_PART = 1 / 4;
/** An HTTP/2 connection of which no tunnel has authenticated is closed after this long. */
export const FIRST_TUNNEL_MS = 10_000;
/**
 * Concurrent tunnels of such a connection: announced, and refused with REFUSED_STREAM beyond it. Clients
 * in Go open no more before they have received the server's limit, and wait, or use another connection,
 * until it is raised.
 */
export const UNPROVEN_TUNNELS = 100;
/** A shared connection without tunnels is closed after this long. */
export const IDLE_CONNECTION_MS = 300_000;
/** A shared connection that was silent for this long is probed before it is used for another tunnel. */
export const REUSE_SILENCE_MS = 15_000;
/** The server may take this long to respond to that probe. */
export const REUSE_PROBE_MS = 5_000;
/**
 * A shared connection that was silent for this long after a request or a datagram is probed, and takes no more of
 * them when the server does not respond to that in time. Several round trips of any usual path; both together are
 * shorter than a program waits for a new connection.
 */
export const REQUEST_SILENCE_MS = 3_000;
export const REQUEST_PROBE_MS = 3_000;
/** A shared connection that was silent for this long is probed in any case. */
export const PROBE_INTERVAL_MS = 30_000;
/** Without a response to that probe it is closed after this long. */
export const PROBE_RESPONSE_MS = 10_000;
/** The last frame of a closed link may take this long to be sent. */
export const CARRIER_LINGER_MS = 5_000;
/**
 * Programs other than Weir end both sides of a WebSocket when they receive a Close frame, so that what they would have sent
 * is lost. A client whose side has ended sends it once the server has ended or was silent for this long.
 */
export const CLOSE_HOLD_MS = 2_000;
/**
 * A server whose side has ended sends its Close frame after this pause: v2ray's clients drop what is on the way to
 * their applications when it arrives, up to 512 KB.
 */
export const CLOSE_PAUSE_MS = 100;
/** A peer other than Weir that sends nothing for this long after a Close frame ignores it, and is disconnected. */
export const CLOSE_SILENCE_MS = 10_000;
/**
 * A WebSocket is looked at once in this time. A client sends a Ping when nothing was sent or received since the last
 * look, after 15 to 30 s of silence, and a server a look later.
 */
export const KEEP_ALIVE_LOOK_MS = 15_000;
/** Shared connections to one server; the flows of a process need fewer. */
export const CONNECTION_LIMIT = 256;

/**
 * Reads of `grpc` connections of an inbound, none of whose tunnels has authenticated, in a turn of the event loop. Each may
 * open, refuse or reset some 16 tunnels, which takes up to 2 ms; the others wait for the next turns.
 */
export const UNPROVEN_READS_A_TURN = 8;

/**
 * Flights of TLS handshakes that a server takes in a turn of the event loop, each 0.5 to 1 ms: clients whose first bytes
 * come at the same time would hold up all others.
 */
export const FLIGHTS_A_TURN = 16;
