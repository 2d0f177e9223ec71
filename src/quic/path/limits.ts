/*
 * Limits of paths and connection ids.
 */

/** Bytes of UDP payload that every path must support (RFC 9000 §14). */
export const BASE_DATAGRAM = 1200;

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
