import { networkInterfaces } from 'node:os';
import { splitZone, toEndpoint, type IpEndpoint } from '@weir/base/ip';

/**
 * Returns an IP address in text, with its zone, if any, and a port as numbers. `undefined` for a name,
 * and for a zone that names no interface with a link-local address.
 */
export function numericEndpoint(host: string, port: number): IpEndpoint | undefined {
  const { address, zone } = splitZone(host);
  if (zone === '') return toEndpoint(address, port);
  const scope = networkInterfaces()[zone]?.find(isLinkLocal)?.scopeid;
  return scope === undefined ? undefined : toEndpoint(address, port, scope);
}

/** Whether an address is usable only together with its interface (RFC 4007 §6). */
export const isLinkLocal = ({ scopeid }: { readonly scopeid?: number | undefined }): boolean =>
  scopeid !== undefined && scopeid !== 0;
