import { ipVersion } from './ip-version.ts';

/** Returns a hint for text that should be an IP address alone; `undefined` if it resembles none. */
export function addressHint(text: string): string | undefined {
  const [address = '', ...rest] = text.trim().split('/');
  if (rest.length > 0 && ipVersion(address) !== 0) {
    return `write the address without a prefix length: ${address}`;
  }
  const host = withoutPort(text.trim());
  if (ipVersion(host) !== 0) return `write the address alone: ${host}`;
  return undefined;
}

/**
 * Returns a hint for text that should be an IP address with a port.
 * @param port suggested if the text has none
 */
export function socketAddressHint(text: string, port: number): string | undefined {
  const trimmed = text.trim();
  if (trimmed.includes('://')) {
    return `write an IP address and a port here, such as 192.0.2.53:${port}; with backend = "https" the URL is the value of url`;
  }
  if (ipVersion(trimmed) === 4) return `the port is missing: ${trimmed}:${port}`;
  const inner = trimmed.replace(/^\[/, '').replace(/\]$/, '');
  if (ipVersion(inner) === 6) return `write IPv6 in brackets, with a port: [${inner}]:${port}`;
  const host = withoutPort(trimmed);
  if (/^[a-z0-9.-]+$/i.test(host) && ipVersion(host) === 0) {
    return `${host} is a name, which would have to be resolved first: write an IP address and a port, such as 192.0.2.53:${port}`;
  }
  return undefined;
}

/** Returns the host of `host:port` and `[host]:port`, or the text itself. */
function withoutPort(text: string): string {
  const close = text.indexOf(']');
  if (text.startsWith('[') && close > 0) return text.slice(1, close);
  const colon = text.indexOf(':');
  return colon >= 0 && colon === text.lastIndexOf(':') ? text.slice(0, colon) : text;
}
