import { formatIP, parseIP } from '@weir/base/ip';
import { bareHost, ImportError, toPort } from '@weir/proxy/protocols/forms';
import type { DnsDraft } from '../routing.ts';

/** A DNS server of another program. */
interface ForeignDnsServer {
  readonly source: string;
  readonly backend: DnsDraft['settings']['backend'];
  /** An address or a name, without brackets. */
  readonly host: string;
  readonly port?: number | undefined;
  /** The name that its certificate must have; the host by default. */
  readonly serverName?: string | undefined;
  readonly path?: string | undefined;
  readonly caFile?: string | undefined;
}

const PORTS = { udp: 53, tls: 853, https: 443 } as const;

/**
 * Converts a server to the table `[dns]`.
 * @throws {ImportError} for a server with a domain name, which would have to be resolved first
 */
export function dnsDraft(server: ForeignDnsServer): DnsDraft {
  const { source, backend, path } = server;
  const bytes = parseIP(bareHost(server.host));
  if (!bytes) throw new ImportError(`${JSON.stringify(server.host)} is not an IP address`);
  const address = formatIP(bytes);
  const port = toPort(server.port ?? PORTS[backend]);
  const place = `${address.includes(':') ? `[${address}]` : address}:${port}`;
  const name = server.serverName ?? '';
  const ca_file = server.caFile;
  switch (backend) {
    case 'udp':
      return { source, settings: { backend, server: place } };
    case 'tls':
      return {
        source,
        settings: { backend, server: place, server_name: name === '' ? address : name, ca_file },
      };
    case 'https':
      if (name === '' && address.includes(':')) {
        throw new ImportError('DNS over HTTPS with an IPv6 address needs the name of the server');
      }
      return {
        source,
        settings: {
          backend,
          server: place,
          url: `https://${name === '' ? address : name}${pathOf(path)}`,
          ca_file,
        },
      };
    default:
      return backend satisfies never;
  }
}

const pathOf = (path = ''): string =>
  path === '' ? '/dns-query' : path.startsWith('/') ? path : `/${path}`;

/** The parts of `scheme://host:port/path` of a DNS server, or of an address alone. */
interface DnsUrl {
  /** Scheme in lower case; empty for an address alone. */
  readonly scheme: string;
  readonly host: string;
  readonly port: number | undefined;
  readonly path: string;
}

/** Parses the URL of a DNS server. @throws {ImportError} for an invalid port */
export function dnsUrlOf(text: string): DnsUrl {
  const mark = text.indexOf('://');
  const scheme = mark < 0 ? '' : text.slice(0, mark).toLowerCase();
  const rest = mark < 0 ? text : text.slice(mark + 3);
  const slash = mark < 0 ? -1 : rest.indexOf('/');
  const authority = slash < 0 ? rest : rest.slice(0, slash);
  const path = slash < 0 ? '' : rest.slice(slash);
  // A bare IPv6 address has no port.
  if (parseIP(authority)) return { scheme, host: authority, port: undefined, path };
  const colon = authority.lastIndexOf(':');
  if (colon < 0 || authority.endsWith(']')) {
    return { scheme, host: bareHost(authority), port: undefined, path };
  }
  return {
    scheme,
    host: bareHost(authority.slice(0, colon)),
    port: toPort(authority.slice(colon + 1)),
    path,
  };
}
