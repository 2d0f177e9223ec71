import type { SystemResolver } from '../../dns/system/system-resolvers.ts';
import { addressInNetwork, formatCidr, type Cidr, formatIP, parseIP } from '@weir/base/ip';
import type { ProgramRoute } from '@weir/io/sockets';
import type { TunSettings } from './settings.ts';

/** Sets of routes that cover a default route of either family. */
const DEFAULT_ROUTES = [
  ['0.0.0.0/0'],
  ['0.0.0.0/1', '128.0.0.0/1'],
  ['::/0'],
  ['::/1', '8000::/1'],
] as const;

/** Whether routes replace the default route of a family. */
export function coversDefaultRoute(routes: readonly Cidr[]): boolean {
  const names = new Set(routes.map(formatCidr));
  return DEFAULT_ROUTES.some((parts) => parts.every((part) => names.has(part)));
}

/** Words for how queries of programs bypass `[dns]`, by the route to the DNS server; `undefined` if they do not. */
const BYPASSES: Readonly<Record<ProgramRoute, string | undefined>> = {
  subnet: undefined,
  uplink: 'past Weir, by the uplink',
  device: 'through Weir, by the rules',
  host: 'a program of this host, whose own servers are not known here',
  // There is no route: nothing is sent.
  none: undefined,
};

/**
 * Returns the text of a warning when programs of this host use DNS servers other than `[dns]`; `undefined`
 * when they do not, or when the device does not replace the default route.
 */
export function resolverWarning(
  { addresses, routes }: Pick<TunSettings, 'addresses' | 'routes'>,
  resolvers: readonly SystemResolver[],
  routeTo: (address: string) => ProgramRoute,
): string | undefined {
  if (!coversDefaultRoute(routes)) return undefined;
  const bypasses = resolvers.flatMap(({ address, source }) => {
    const route = routeTo(address);
    const way = BYPASSES[route];
    if (way === undefined) return [];
    // systemd-resolved may encrypt its queries (DNSOverTLS).
    const isClear = route === 'uplink' && source !== 'systemd-resolved';
    return [`${address} (${source}): ${way}${isClear ? ' in clear' : ''}`];
  });
  if (bypasses.length === 0) return undefined;
  const viaResolved = resolvers.some(({ source }) => source === 'systemd-resolved');
  return `[dns] does not answer the names that programs of this host ask for. They ask ${bypasses.join('; ')}. ${hint(nameServer(addresses), viaResolved)}; docs/tun.md, "The resolver of this machine", says how`;
}

function hint(server: string | undefined, viaResolved: boolean): string {
  if (server === undefined) return 'Give the device an address, in whose subnet [dns] answers';
  const where = viaResolved
    ? `"DNS=${server}" and "Domains=~." into the configuration of systemd-resolved`
    : `"nameserver ${server}" into /etc/resolv.conf in place of these`;
  return `Put ${where}, and give [dns] a server of its own`;
}

/**
 * Returns the address to configure as the DNS server: one next to the device's own address, on which another program
 * may have bound port 53. `undefined` for a device without addresses.
 */
export function nameServer(addresses: readonly Cidr[]): string | undefined {
  const own = addresses[0];
  const bytes = own && parseIP(own.address);
  if (!bytes) return undefined;
  const last = bytes.length - 1;
  for (const step of [1, -1]) {
    const other = Uint8Array.from(bytes);
    other[last] = (bytes[last] ?? 0) + step;
    const text = formatIP(other);
    if (addressInNetwork(text, own) && isHost(other, own.prefix)) return text;
  }
  return own.address;
}

/**
 * Whether an address is neither the first nor the last of its network: those are not assigned to a
 * host.
 */
function isHost(bytes: Uint8Array, prefix: number): boolean {
  const bits = bytes.length * 8 - prefix;
  if (bits < 2) return true;
  let value = 0n;
  for (const byte of bytes) value = (value << 8n) | BigInt(byte);
  const rest = BigInt.asUintN(bits, value);
  return rest !== 0n && rest !== (1n << BigInt(bits)) - 1n;
}
