import {
  ipVersion,
  unmapIPv4,
  type Endpoint,
  type Network,
  normalizeHost,
} from '@weir/io/addresses';
import { UsageError } from '@weir/base';

/** A flow to explain; missing properties are assumed. */
export interface ExplainedFlow {
  /** The destination as in flows: an address, or a name in ASCII. */
  readonly destination: Endpoint;
  readonly network: Network;
  readonly from: string | undefined;
  readonly inbound: string | undefined;
  readonly sniffed: string | undefined;
}

/** The properties of a flow as text. */
export type FlowOptions = Readonly<
  Partial<Record<'from' | 'inbound' | 'network' | 'sniffed', string | undefined>>
>;

/**
 * Parses a flow.
 *
 * @param dashes prefix of property names in errors
 * @throws {UsageError} for invalid properties
 */
export function parseFlow(destination: string, options: FlowOptions, dashes = ''): ExplainedFlow {
  const { from, inbound, network = 'tcp', sniffed } = options;
  if (network !== 'tcp' && network !== 'udp') {
    throw new UsageError(`${dashes}network is tcp or udp, not ${JSON.stringify(network)}`);
  }
  if (from !== undefined && ipVersion(from) === 0) {
    throw new UsageError(`${dashes}from needs an IP address, not ${JSON.stringify(from)}`);
  }
  const name = sniffed === undefined ? undefined : normalizeHost(sniffed);
  if (sniffed !== undefined && (name === undefined || ipVersion(name) !== 0)) {
    throw new UsageError(`${dashes}sniffed needs a domain name, not ${JSON.stringify(sniffed)}`);
  }
  return {
    destination: parseDestination(destination),
    network,
    from: from === undefined ? undefined : unmapIPv4(from),
    inbound,
    sniffed: name,
  };
}

/** Default ports of URL schemes; a URL with any other scheme has to name its port. */
const DEFAULT_PORTS: ReadonlyMap<string, string> = new Map([
  ['http:', '80'],
  ['ws:', '80'],
  ['https:', '443'],
  ['wss:', '443'],
  ['ftp:', '21'],
]);

/** The scheme of a URL up to `//` (RFC 3986 §3.1). */
const URL_START = /^[a-z][a-z0-9+.-]{0,31}:\/\//i;
const PORT = /^\d{1,5}$/;

/** Parses `example.com:443`, `[2001:db8::1]:443` or a URL; the host in the form of flows. */
function parseDestination(text: string): Endpoint {
  const place = URL_START.test(text) ? placeOf(text) : text;
  const colon = place.lastIndexOf(':');
  const written = place.slice(0, Math.max(0, colon));
  const port = place.slice(colon + 1);
  const isBracketed = written.startsWith('[') && written.endsWith(']');
  const bare = isBracketed ? written.slice(1, -1) : written;
  const host = isBracketed === bare.includes(':') ? normalizeHost(bare) : undefined;
  if (host === undefined || !PORT.test(port) || Number(port) > 65_535) {
    const wanted = 'HOST:PORT, with an IPv6 address in brackets, or a URL';
    throw new UsageError(`${JSON.stringify(place)} is not ${wanted}`);
  }
  return { host, port: Number(port) };
}

/**
 * Host and port of a URL. Its user, path and query are dropped before anything is shown.
 * @throws {UsageError} without a port, for a scheme that has none of its own
 */
function placeOf(text: string): string {
  const [scheme = ''] = text.split('//');
  const authority = text.slice(scheme.length + 2).split(/[/?#]/, 1)[0] ?? '';
  const place = authority.slice(authority.lastIndexOf('@') + 1);
  const colon = place.lastIndexOf(':');
  // The colons of an IPv6 address are in brackets.
  const hasPort = colon > place.lastIndexOf(']');
  if (hasPort && colon < place.length - 1) return place;
  return `${hasPort ? place.slice(0, -1) : place}:${portFor(scheme)}`;
}

function portFor(scheme: string): string {
  const port = DEFAULT_PORTS.get(scheme.toLowerCase());
  if (port !== undefined) return port;
  throw new UsageError(`a URL of ${scheme}// needs a port`);
}
