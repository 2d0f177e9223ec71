/** What the last probe said of a member; `unknown` before the first has ended. */
export type Health = 'unknown' | 'available' | 'unavailable';
