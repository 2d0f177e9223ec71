import { ipVersion } from '../../net/address.ts';

/** White space, and what belongs to URLs, paths and socket addresses, is in no host name. */
const NOT_IN_NAMES = /[\s/\\:@[\]?#%\p{Cc}]/u;

/** What is wrong with a host that stands alone, its port in a key of its own. */
export function hostProblem(text: string): string | undefined {
  if (text === '') return 'is empty';
  if (ipVersion(text) !== 0) return undefined;
  if (/^\[.*\]$/.test(text)) return 'has brackets; write the IPv6 address without them';
  if (/^[^:]*:\d+$/.test(text)) return 'has a port, which belongs in port';
  if (NOT_IN_NAMES.test(text)) return 'is neither an IP address nor a host name';
  return undefined;
}
