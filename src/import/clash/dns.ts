import { ipVersion } from '../../net/addresses/address.ts';
import { printable } from '../../printable.ts';
import { ImportError } from '../../protocols/forms/draft.ts';
import type { ForeignObject } from '../../protocols/forms/foreign-object.ts';
import type { DnsDraft, DocumentKey } from '../routing.ts';

/** `[dns]`, and a report on each server. */
interface DnsReading {
  readonly dns?: DnsDraft | undefined;
  readonly keys: readonly DocumentKey[];
}

const MOST_SERVERS = 100;

/** Reads `dns.nameserver`: Weir uses the first server that it supports. */
export function readDns(dns: ForeignObject): DnsReading {
  const servers = dns.entries('nameserver').slice(0, MOST_SERVERS);
  if (!dns.flag('enable')) {
    return servers.length === 0 ? { keys: [] } : { keys: [{ path: 'dns', ...OFF }] };
  }
  const keys: DocumentKey[] = [];
  let chosen: DnsDraft | undefined;
  for (const [index, server] of servers.entries()) {
    const path = `dns.nameserver[${index}]`;
    if (chosen) {
      keys.push({ path, status: 'skipped', reason: 'Weir asks one server' });
      continue;
    }
    try {
      chosen = dnsServerOf(typeof server === 'string' ? server : '');
    } catch (error) {
      if (!(error instanceof ImportError)) throw error;
      keys.push({ path, status: 'skipped', reason: error.message });
    }
  }
  if (!chosen) keys.push({ path: 'dns', status: 'skipped', reason: NO_SERVER });
  return { dns: chosen, keys };
}

const OFF = {
  status: 'same',
  reason: 'it is not enabled: the resolver of the system is used',
} as const;
const NO_SERVER = 'none of its servers can be used; the resolver of the system is asked';

const PORTS: ReadonlyMap<string, { readonly backend: 'udp' | 'tls' | 'https'; port: number }> =
  new Map([
    ['udp', { backend: 'udp', port: 53 }],
    ['tls', { backend: 'tls', port: 853 }],
    ['https', { backend: 'https', port: 443 }],
  ]);

/**
 * Parses a name server in the syntax of Clash and sing-box: `223.5.5.5`, `udp://…`, `tls://…`, `https://…`.
 * @throws {ImportError} for a server that Weir does not support
 */
export function dnsServerOf(text: string): DnsDraft {
  const [address = '', ...fragment] = text.trim().split('#');
  if (fragment.join('#') !== '') {
    throw new ImportError('it is asked through a server, which Weir cannot do');
  }
  const isBare = ipVersion(address) === 6;
  const url = address.includes('://') ? address : `udp://${isBare ? `[${address}]` : address}`;
  const colon = url.indexOf('://');
  const scheme = url.slice(0, colon).toLowerCase();
  const known = PORTS.get(scheme);
  if (!known) throw new ImportError(`a server by ${printable(scheme)} is not supported`);
  const { backend } = known;
  const place = url.slice(colon + 3);
  const slash = place.indexOf('/');
  const [authority, path] = slash < 0 ? [place, ''] : [place.slice(0, slash), place.slice(slash)];
  if (authority.includes('@')) throw new ImportError('a server with an account is not supported');
  const { host, port } = hostAndPort(authority, known.port);
  if (ipVersion(host) === 0) {
    throw new ImportError('Weir reaches a resolver by its address; write it with the address');
  }
  const shown = ipVersion(host) === 6 ? `[${host}]` : host;
  if (backend === 'https' && ipVersion(host) === 6) {
    throw new ImportError('the URL needs a name or an IPv4 address');
  }
  return {
    source: `${scheme}://${authority}`,
    settings: {
      backend,
      server: `${shown}:${port}`,
      server_name: backend === 'tls' ? host : undefined,
      url: backend === 'https' ? `https://${host}${path === '' ? '/dns-query' : path}` : undefined,
    },
  };
}

function hostAndPort(authority: string, usual: number): { host: string; port: number } {
  const end = authority.startsWith('[') ? authority.indexOf(']') + 1 : 0;
  const colon = authority.indexOf(':', end);
  const host = colon < 0 ? authority : authority.slice(0, colon);
  const port = colon < 0 ? usual : Number(authority.slice(colon + 1));
  if (!Number.isInteger(port) || port < 1 || port > 0xffff) {
    throw new ImportError('its port is invalid');
  }
  return { host: host.startsWith('[') ? host.slice(1, -1) : host, port };
}
