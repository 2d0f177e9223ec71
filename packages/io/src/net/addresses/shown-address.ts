import { formatEndpoint, formatIP, parseIP, unmapIPv4, type Endpoint } from './address.ts';

/** Parts of addresses that the log shows; the values of WEIR_LOG_ADDRESSES. */
export type ShownAddresses = 'full' | 'net' | 'none';

/** Placeholder for a hidden address. */
const ADDRESS = '<address>';
/** Placeholder for a hidden text of another program, which may contain addresses. */
const TEXT = '<text>';

/** Bytes of an address that remain visible, by its length: an IPv4 network /24, an IPv6 network /48. */
const KEPT: Readonly<Record<number, number>> = { 4: 3, 16: 6 };

/** Labels of a name that remain visible. */
const KEPT_LABELS = 2;

/** The choice of this process, made at its start: log lines and errors of all its parts depend on it. */
let shown: ShownAddresses = 'full';

/** Chooses how addresses are shown from now on. */
export function showAddresses(how: ShownAddresses): void {
  shown = how;
}

/**
 * Returns the host of a client, of a destination or of an outbound's server, for a log line or an error. Errors end up
 * in log lines, so both are masked here: finished text is never searched for addresses.
 *
 * `net` keeps the network of an address and the last two labels of a name, as in `*.example.com`.
 */
export const shownHost = (host: string): string => (shown === 'full' ? host : maskedHost(host));

/** Returns the host of a client as `shownHost` masks it; `undefined` if there is none. */
export const shownSource = (host: string | undefined): string | undefined =>
  host === undefined ? undefined : shownHost(host);

/** Returns an endpoint with its host as `shownHost` masks it; the port is always shown. */
export const shownEndpoint = (endpoint: Endpoint): string =>
  formatEndpoint(shown === 'full' ? endpoint : { ...endpoint, host: maskedHost(endpoint.host) });

/**
 * Returns a text that a peer or the system has written, for a log line or an error: it may name addresses in any form,
 * so it is shown as a whole or not at all.
 */
export const shownForeign = (text: string, instead = TEXT): string =>
  shown === 'full' || text === '' ? text : instead;

function maskedHost(host: string): string {
  return shown === 'none' ? ADDRESS : networkOf(host);
}

function networkOf(host: string): string {
  const bytes = parseIP(unmapIPv4(host.split('%', 1)[0] ?? host));
  if (bytes) return formatIP(bytes.fill(0, KEPT[bytes.length] ?? 0));
  // Any other text with a colon is not a name.
  if (host.includes(':')) return ADDRESS;
  const labels = host.split('.');
  const kept = labels.slice(-KEPT_LABELS).join('.');
  return labels.length > KEPT_LABELS ? `*.${kept}` : kept;
}
