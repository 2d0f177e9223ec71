import { ipVersion, unmapIPv4, type Endpoint, type Network } from '../net/addresses/address.ts';
import { normalizeHost } from '../net/addresses/host-name.ts';
import { UsageError } from '../errors.ts';

/** A flow to explain; absent values are assumed. */
export interface ExplainedFlow {
  /** The host in the form of flows: an address, or a name in ASCII. */
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
 * @param dashes before the names of properties in errors.
 * @throws {UsageError} for invalid properties.
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

const PORT = /^\d{1,5}$/;

/** Parses `example.com:443` or `[2001:db8::1]:443`; the host in the form of flows. */
function parseDestination(text: string): Endpoint {
  const colon = text.lastIndexOf(':');
  const written = text.slice(0, Math.max(0, colon));
  const port = text.slice(colon + 1);
  const isBracketed = written.startsWith('[') && written.endsWith(']');
  const bare = isBracketed ? written.slice(1, -1) : written;
  const host = isBracketed === bare.includes(':') ? normalizeHost(bare) : undefined;
  if (host === undefined || !PORT.test(port) || Number(port) > 65_535) {
    const wanted = 'HOST:PORT, with an IPv6 address in brackets';
    throw new UsageError(`${JSON.stringify(text)} is not ${wanted}`);
  }
  return { host, port: Number(port) };
}
