import { formatEndpoint, formatIP, parseIP, unmapIPv4, type Endpoint } from './address.ts';

/** How much of addresses the log shows; the values of WEIR_LOG_ADDRESSES. */
export type ShownAddresses = 'full' | 'net' | 'none';

/** What stands for an address that is not shown. */
const ADDRESS = '<address>';
/** What stands for a text of another program, which may contain addresses. */
const TEXT = '<text>';

/** Bytes that are kept of an address, by its length: an IPv4 network /24, an IPv6 network /48. */
const KEPT: Readonly<Record<number, number>> = { 4: 3, 16: 6 };

/** Labels that are kept of a name. */
const KEPT_LABELS = 2;

/** The choice of this process, made at its start: lines and errors of every part of it pass here. */
let shown: ShownAddresses = 'full';

/** Chooses how addresses are shown from now on. */
export function showAddresses(how: ShownAddresses): void {
  shown = how;
}

/**
 * The host of a client, of a destination or of an outbound's server, for a log line or an error. Errors end in log
 * lines, so both pass here: nothing searches finished text for addresses.
 *
 * `net` keeps the network of an address and the last two labels of a name, as in `*.example.com`.
 */
export const shownHost = (host: string): string => (shown === 'full' ? host : maskedHost(host));

/** The same; `undefined` where there is none. */
export const shownSource = (host: string | undefined): string | undefined =>
  host === undefined ? undefined : shownHost(host);

/** The same with its port, which is always shown. */
export const shownEndpoint = (endpoint: Endpoint): string =>
  formatEndpoint(shown === 'full' ? endpoint : { ...endpoint, host: maskedHost(endpoint.host) });

/**
 * A text that a peer or the system has written, for a log line or an error: it may name addresses in any form, so it
 * is shown as a whole or not at all.
 */
export const shownForeign = (text: string, instead = TEXT): string =>
  shown === 'full' || text === '' ? text : instead;

function maskedHost(host: string): string {
  return shown === 'none' ? ADDRESS : networkOf(host);
}

function networkOf(host: string): string {
  const bytes = parseIP(unmapIPv4(host.split('%', 1)[0] ?? host));
  if (bytes) return formatIP(bytes.fill(0, KEPT[bytes.length] ?? 0));
  // Whatever else has a colon is no name.
  if (host.includes(':')) return ADDRESS;
  const labels = host.split('.');
  const kept = labels.slice(-KEPT_LABELS).join('.');
  return labels.length > KEPT_LABELS ? `*.${kept}` : kept;
}
