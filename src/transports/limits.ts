/** Time and size limits of carriers; each is a bound on what a peer may cost. */

/** From a connected socket to the upgrade, on either side. */
export const UPGRADE_MS = 10_000;
/** An HTTP/2 connection without its first tunnel is given up after this long. */
export const FIRST_TUNNEL_MS = 10_000;
/** A shared connection that carries nothing any more is closed after this long. */
export const IDLE_CONNECTION_MS = 300_000;
/** Before a connection that was silent for so long gets another tunnel, it is asked whether it lives. */
export const SILENCE_MS = 15_000;
export const PING_MS = 5_000;
/** A shared connection that was silent for so long is asked in any case, and cut without an answer. */
export const WATCH_MS = 30_000;
export const ANSWER_MS = 10_000;
/** A last frame may take this long to leave once nobody waits for it any more. */
export const LINGER_MS = 5_000;
/** Shared connections to one server: room for more flows than there are, and an end to a mistake. */
export const CONNECTION_LIMIT = 256;
