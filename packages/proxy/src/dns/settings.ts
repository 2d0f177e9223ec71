import { parseCaBundle } from '@weir/crypto/certificates';
import { messageOf, WeirError, type WeirErrorOptions } from '@weir/base';
import { socketAddressHint } from '@weir/base/ip';
import { wireHost, ipVersion } from '@weir/io/addresses';
import type { CaSpec, DnsBackendName, DnsServer, DnsSpec } from '../spec.ts';

/** The keys of `[dns]` as written in the file. */
export interface DnsSettings {
  readonly backend?: string | undefined;
  readonly server?: string | undefined;
  readonly server_name?: string | undefined;
  readonly url?: string | undefined;
  /** The file that `ca_file` names and its content; read for every backend. */
  readonly ca_file?: { readonly file: string; readonly content: Uint8Array } | undefined;
}

/** An invalid `[dns]` table; `key` leads to the place in the file. */
export class DnsSettingsError extends WeirError {
  readonly key: keyof DnsSettings;

  constructor(key: keyof DnsSettings, message: string, options?: WeirErrorOptions) {
    super('dns_settings', message, options);
    this.key = key;
  }
}

const BACKENDS: readonly DnsBackendName[] = ['system', 'udp', 'tls', 'https'];
/** Default ports, of RFC 1035, 7858 and 8484. */
const DEFAULT_PORTS: Readonly<Record<DnsBackendName, number>> = {
  system: 53,
  udp: 53,
  tls: 853,
  https: 443,
};
const HTTPS = 'https://';
const DEFAULT_PATH = '/dns-query';

/**
 * Checks and lowers the table `[dns]`; keys that the backend does not use are ignored.
 *
 * @throws {DnsSettingsError} with the message for the user.
 */
export function lowerDns(settings: DnsSettings): DnsSpec {
  const backend = parseBackend(settings.backend ?? 'system');
  switch (backend) {
    case 'system':
      return { backend };
    case 'udp':
      return { backend, server: serverOf(settings, backend) };
    case 'tls':
      return {
        backend,
        server: serverOf(settings, backend),
        serverName: serverNameOf(settings),
        ca: caOf(settings),
      };
    case 'https': {
      const server = serverOf(settings, backend);
      if (settings.url === undefined) {
        throw new DnsSettingsError('url', 'dns: the https backend needs a url');
      }
      return { backend, server, ...parseDohUrl(settings.url), ca: caOf(settings) };
    }
    default:
      return backend satisfies never;
  }
}

function parseBackend(value: string): DnsBackendName {
  const backend = BACKENDS.find((each) => each === value);
  if (backend) return backend;
  throw new DnsSettingsError(
    'backend',
    `dns: unknown backend ${value} (expected system, udp, tls or https)`,
  );
}

function serverOf({ server }: DnsSettings, backend: DnsBackendName): DnsServer {
  if (server === undefined) {
    throw new DnsSettingsError('server', `dns: the ${backend} backend needs a server address`);
  }
  return parseServerAddress(server, DEFAULT_PORTS[backend]);
}

function serverNameOf({ server_name: name }: DnsSettings): string {
  if (name === undefined || name === '') {
    throw new DnsSettingsError(
      'server_name',
      'dns: the tls backend needs a server name to verify against',
    );
  }
  return wireHost(name);
}

function caOf({ ca_file: ca }: DnsSettings): CaSpec | undefined {
  if (!ca) return undefined;
  try {
    return { file: ca.file, certificates: parseCaBundle(ca.content) };
  } catch (error) {
    throw new DnsSettingsError('ca_file', messageOf(error), { cause: error });
  }
}

/** A server address: `192.0.2.53:53`, `[2001:db8::53]:53`, with a zone number `[fe80::1%2]:53`. */
const SOCKET_ADDRESS = /^(?:(?<v4>[\d.]+)|\[(?<v6>[\da-fA-F:.]+(?:%\d+)?)\]):(?<port>\d+)$/;

/**
 * Parses an IP address with a port.
 *
 * @param usual the port that a hint suggests if none is written
 * @throws {DnsSettingsError} for anything else, including a host name.
 */
export function parseServerAddress(text: string, usual = DEFAULT_PORTS.udp): DnsServer {
  const { v4, v6, port } = SOCKET_ADDRESS.exec(text)?.groups ?? {};
  const host = v4 ?? v6 ?? '';
  const version = v4 === undefined ? 6 : 4;
  if (ipVersion(host) !== version || Number(port) > 0xffff) {
    throw new DnsSettingsError(
      'server',
      'dns: invalid server address: invalid socket address syntax',
      { hint: socketAddressHint(text, usual) },
    );
  }
  return { host, port: Number(port) };
}

/**
 * Splits the URL of a DNS over HTTPS server by the rules of `[dns].url`, which are simpler than a
 * URL's: the host ends at the first colon, a port is ignored, and the path begins at the first
 * slash. Characters of the path that a request line cannot hold are percent-encoded.
 *
 * @throws {DnsSettingsError} for another scheme, userinfo or an empty host.
 */
export function parseDohUrl(url: string): { readonly host: string; readonly path: string } {
  if (!url.startsWith(HTTPS)) {
    throw new DnsSettingsError('url', `dns: url must start with ${HTTPS}`);
  }
  const rest = url.slice(HTTPS.length);
  const slash = rest.indexOf('/');
  const authority = slash < 0 ? rest : rest.slice(0, slash);
  if (authority.includes('@')) {
    throw new DnsSettingsError('url', 'dns: url must not contain userinfo');
  }
  const [host = ''] = authority.split(':', 1);
  if (host === '') throw new DnsSettingsError('url', 'dns: url has an empty host');
  const path = slash < 0 ? DEFAULT_PATH : rest.slice(slash);
  return {
    host: wireHost(host),
    path: path.toWellFormed().replace(/[^\x21-\x7e]+/g, encodeURIComponent),
  };
}
