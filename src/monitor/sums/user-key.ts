/** The user of a flow: labels of different inbounds may be equal. */
export interface FlowUser {
  readonly inbound: string;
  /** `null` for a user without a label. */
  readonly user: string | null;
}

/** A key of a user for maps; different users have different keys. */
export const userKey = ({ inbound, user }: FlowUser): string =>
  `${inbound.length}:${inbound}${user === null ? '' : `:${user}`}`;

/** The user of a key that `userKey` has made. */
export function userOfKey(key: string): FlowUser {
  const start = key.indexOf(':') + 1;
  const end = start + Number.parseInt(key, 10);
  return { inbound: key.slice(start, end), user: end < key.length ? key.slice(end + 1) : null };
}
