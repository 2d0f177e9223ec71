/** The identity of a flow's user; users of different inbounds may have the same label. */
export interface FlowUser {
  readonly inbound: string;
  /** `null` for a user without a label. */
  readonly user: string | null;
}

/** A key for maps, unique per user. */
export const userKey = ({ inbound, user }: FlowUser): string =>
  `${inbound.length}:${inbound}${user === null ? '' : `:${user}`}`;

/** The user of a key from `userKey`. */
export function userOfKey(key: string): FlowUser {
  const start = key.indexOf(':') + 1;
  const end = start + Number.parseInt(key, 10);
  return { inbound: key.slice(start, end), user: end < key.length ? key.slice(end + 1) : null };
}
