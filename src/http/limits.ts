/** Limit of interim responses (1xx) that a server may send before the final one, in any version of HTTP. */
export const INTERIM_LIMIT = 16;
