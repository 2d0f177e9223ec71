import { ipVersion } from '../../net/addresses/address.ts';
import type { DnsTable } from '../tables/dns.ts';
import type { WarningList } from './warning.ts';

/** Warns of keys of `[dns]` without effect, and of a URL with which every query fails. */
export function warnOfDns(table: DnsTable | undefined, list: WarningList): void {
  if (!table) return;
  const { backend, server, url } = table.value;
  const ignored = server ?? url;
  // With an explicit backend, keys of another one may be kept on purpose.
  if (!backend && ignored) {
    const key = server ? 'server' : 'url';
    const isUrl = server?.value.includes('://') === true;
    list.add(
      'dns-ignored',
      ignored.span,
      () =>
        `[dns] ${key} is ignored: without backend = "udp", "tls" or "https" the system resolves${isUrl ? '; a URL is the value of url, with backend = "https" and an IP address and port as server' : ''}`,
    );
  }
  const bracketed = url && IPV6_URL.exec(url.value)?.[1];
  if (backend?.value === 'https' && bracketed !== undefined && ipVersion(bracketed) === 6) {
    list.add(
      'setting-unusable',
      url?.span ?? table.span,
      () => '[dns] url has an IPv6 address: every query fails; write a name',
    );
  }
}

const IPV6_URL = /^https:\/\/\[([^\]]*)\]/;
