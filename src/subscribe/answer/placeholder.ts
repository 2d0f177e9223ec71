/** Host names that no provider's server has: placeholders in lists of expired accounts. */
const RESERVED_NAMES: readonly string[] = [
  'localhost',
  'example.com',
  'example.net',
  'example.org',
  'invalid',
];

/**
 * Whether an endpoint is a placeholder that cannot be reached: the unspecified address, a name reserved for
 * documentation (RFC 2606), port 0 or 1, or this machine.
 * @param fromThisMachine whether the list itself comes from this machine, which may then name itself
 */
export function isPlaceholder(server: string, port: number, fromThisMachine: boolean): boolean {
  const host = server.toLowerCase().replace(/\.$/, '');
  if (port <= 1) return true;
  if (host === '0.0.0.0' || host === '::' || host === '255.255.255.255') return true;
  if (fromThisMachine && isThisMachine(host)) return false;
  if (isThisMachine(host)) return true;
  return RESERVED_NAMES.some((name) => host === name || host.endsWith(`.${name}`));
}

/** Whether a host is this machine by a loopback name or address. */
export const isThisMachine = (host: string): boolean =>
  host === 'localhost' ||
  host.endsWith('.localhost') ||
  host === '::1' ||
  /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);
