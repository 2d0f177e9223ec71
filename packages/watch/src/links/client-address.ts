import { ipVersion, unmapIPv4 } from '@weir/base/ip';

/** Entries of `X-Forwarded-For` that are read, from the last one on: a chain of proxies is short. */
const MOST_PROXIES = 16;

/**
 * The address of the client of a request: that of the connection, or behind trusted proxies the last address of
 * `X-Forwarded-For` that is none of theirs. What a client itself writes into the header stands before it.
 *
 * @param peer address of the connection; `undefined` on a unix socket, whose clients are proxies
 */
export function clientAddress(
  peer: string | undefined,
  forwardedFor: string | undefined,
  isTrusted: (address: string) => boolean,
): string | undefined {
  let client = peer === undefined ? undefined : unmapIPv4(peer);
  if (forwardedFor === undefined) return client;
  const entries = forwardedFor.split(',').slice(-MOST_PROXIES);
  while (client === undefined || isTrusted(client)) {
    const entry = entries.pop();
    const address = entry === undefined ? undefined : addressOf(entry.trim());
    if (address === undefined) return client;
    client = address;
  }
  return client;
}

/** The address of an entry, which some proxies write with a port; `undefined` for anything else. */
function addressOf(entry: string): string | undefined {
  const bare =
    /^\[([^\]]+)\](?::\d{1,5})?$/.exec(entry)?.[1] ?? entry.replace(/^([\d.]+):\d{1,5}$/, '$1');
  return ipVersion(bare) === 0 ? undefined : unmapIPv4(bare);
}
