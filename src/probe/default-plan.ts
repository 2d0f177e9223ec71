/** The default URL: a small response without a body, served from many places, which other clients request too. */
export const DEFAULT_PROBE_URL = 'http://cp.cloudflare.com/generate_204';

/** Default number of tries of each outbound. */
export const DEFAULT_TRIES = 3;

/** Default time limit of one try, in seconds. */
export const DEFAULT_TRY_SECONDS = 10;

/** Default time limit of the whole probe, in seconds. */
export const DEFAULT_TOTAL_SECONDS = 300;
