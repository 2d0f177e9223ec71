/*
 * Bounds of paths and connection ids.
 */

/** Bytes of UDP payload that every path has to take (RFC 9000 §14). */
export const BASE_DATAGRAM = 1200;

/**
 * Paths of a connection that are remembered: the one in use, the one before it, and two that the peer
 * tries. A further one replaces the oldest that is neither in use nor to be returned to.
 */
export const MAX_PATHS = 4;

/**
 * PATH_CHALLENGE frames of one validation that may still be answered. A further one replaces the oldest:
 * the peer's answer to that is ignored.
 */
export const MAX_CHALLENGES = 4;

/** PATH_RESPONSE frames that wait on a path. A further one replaces the oldest: a peer asks again. */
export const MAX_RESPONSES = 4;

/** Ids that are issued to the peer at a time, if it takes as many. */
export const MAX_LOCAL_IDS = 4;

/**
 * Ids of the peer that are kept: active_connection_id_limit, which this side announces. One more is a
 * CONNECTION_ID_LIMIT_ERROR.
 */
export const ACTIVE_CONNECTION_ID_LIMIT = 4;

/**
 * RETIRE_CONNECTION_ID frames that are not acknowledged yet, at least twice the above (RFC 9000
 * §5.1.2). One more is a CONNECTION_ID_LIMIT_ERROR.
 */
export const MAX_RETIREMENTS = 16;
