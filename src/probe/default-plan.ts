/** What is asked for: small, without a body, at many places; what other clients ask as well. */
export const DEFAULT_PROBE_URL = 'http://cp.cloudflare.com/generate_204';

/** Tries of each outbound. */
export const DEFAULT_TRIES = 3;

/** Seconds for one try. */
export const DEFAULT_TRY_SECONDS = 10;

/** Seconds for all of it. */
export const DEFAULT_TOTAL_SECONDS = 300;
