import {
  addressInNetwork,
  type Cidr,
  type CidrProblem,
  formatCidr,
  parseCidr,
  parseInterfaceAddress,
} from '@weir/base/ip';
import {
  array,
  bool,
  converted,
  type Decoder,
  disclosed,
  located,
  str,
  u16,
  u64,
} from '../../schema/decoder.ts';
import { DecodeError } from '../../schema/errors.ts';
import { isZeroAt, type TableNode, textAt, valueAt } from '../../schema/node.ts';
import { fallback, optional, struct } from '../../schema/struct.ts';
import type { SettingsWarning } from '../protocol.ts';

export interface TunSettings {
  /**
   * The name of the interface; if `undefined` the kernel chooses one. The length is checked when the device is created.
   */
  readonly name: string | undefined;
  readonly mtu: number;
  /** Addresses of the interface; host bits may be set. */
  readonly addresses: readonly Cidr[];
  /**
   * Networks that the main routing table sends through the interface, in addition to those of `addresses`.
   */
  readonly routes: readonly Cidr[];
  /** Settings of the UDP relay; `undefined` when UDP is not relayed. */
  readonly udp: { readonly idleSeconds: number } | undefined;
  readonly maxFlows: number;
}

/** The minimum MTU of IPv6 (RFC 8200 §5). */
const LEAST_MTU = 1280;

const mtu: Decoder<number> = converted(u16, (bytes, reject) => {
  if (bytes < LEAST_MTU) throw reject(`tun mtu must be at least ${LEAST_MTU}`);
  return bytes;
});

/** Decodes a network in text. @param what the name of the value in errors. */
const network = (what: string, parse: (text: string) => Cidr | CidrProblem): Decoder<Cidr> =>
  converted(disclosed(str), (text, reject) => {
    const parsed = parse(text);
    if ('problem' in parsed) throw reject(`bad tun ${what} ${text}: ${parsed.problem}`);
    return parsed;
  });

export const tunTable = struct(
  {
    name: optional(disclosed(str)),
    mtu: fallback(mtu, 1500),
    address: fallback(array(network('address', parseInterfaceAddress)), []),
    routes: optional(located(array(network('route', parseCidr)))),
    udp: fallback(bool, true),
    udpIdleTimeout: fallback(u64, 60n),
    maxFlows: fallback(u64, 65_536n),
  },
  {
    name: 'Name of the interface; the kernel chooses one when left out',
    mtu: 'In bytes, at least 1280',
    address: 'ADDRESS/PREFIX, of the interface',
    routes: 'Networks routed into the interface',
    udp: 'Whether UDP is relayed',
    udpIdleTimeout: 'Seconds of silence that end a UDP flow',
    maxFlows: 'Flows at one time',
  },
);

/**
 * Decodes the `settings` of a TUN inbound.
 * @throws {DecodeError}
 */
export function tunSettings(table: TableNode, platform: NodeJS.Platform): TunSettings {
  const { name, mtu, address, routes, udp, udpIdleTimeout, maxFlows } = tunTable(table);
  if (platform !== 'linux' && routes !== undefined && routes.value.length > 0) {
    throw new DecodeError(
      'tun routes are installed only on Linux; add them with the OS route tool',
      routes.span,
    );
  }
  const addresses = distinct(address);
  return {
    name: name === '' ? undefined : name,
    mtu,
    addresses,
    routes: distinct(routes?.value ?? []).filter(
      (route) => !addresses.some((own) => isSubnetOf(own, route)),
    ),
    udp: udp ? { idleSeconds: Number(udpIdleTimeout) } : undefined,
    maxFlows: Number(maxFlows),
  };
}

/** Removes repeated networks: the kernel rejects duplicates. */
const distinct = (networks: readonly Cidr[]): Cidr[] => [
  ...new Map(networks.map((network) => [formatCidr(network), network])).values(),
];

/** Whether the kernel adds a route by itself for the address of an interface. It never adds a default route. */
const isSubnetOf = ({ address, prefix }: Cidr, route: Cidr): boolean =>
  prefix > 0 && prefix === route.prefix && addressInNetwork(address, route);

/**
 * Returns the reason why new settings need a new device. All other settings are swapped in, and apply to later flows.
 */
export function restartReason(before: TunSettings, after: TunSettings): string | undefined {
  if (before.name !== after.name) return 'name changed';
  if (before.mtu !== after.mtu) return 'mtu changed';
  if (!sameNetworks(before.addresses, after.addresses)) return 'address changed';
  return sameNetworks(before.routes, after.routes) ? undefined : 'routes changed';
}

const sameNetworks = (some: readonly Cidr[], others: readonly Cidr[]): boolean =>
  some.length === others.length &&
  some.every((network, index) => {
    const other = others[index];
    return other !== undefined && formatCidr(network) === formatCidr(other);
  });

/** The longest name of an interface: IFNAMSIZ of Linux, without the null byte. */
const LONGEST_NAME = 15;

/** Warnings for valid values with which the device cannot be created or relays nothing. */
export function* inboundWarnings(
  table: TableNode,
  platform: NodeJS.Platform,
): Generator<SettingsWarning> {
  const unusable = (key: string, message: string): SettingsWarning => ({
    id: 'setting-unusable',
    span: valueAt(table, key)?.span ?? table.span,
    message,
  });
  if (platform === 'linux' && Buffer.byteLength(textAt(table, 'name') ?? '') > LONGEST_NAME) {
    yield unusable(
      'name',
      `name has more than ${LONGEST_NAME} bytes: the device cannot be created`,
    );
  }
  if (isZeroAt(table, 'max_flows'))
    yield unusable('max_flows', 'with max_flows = 0 every flow is dropped');
  if (isZeroAt(table, 'udp_idle_timeout')) {
    const message = 'with udp_idle_timeout = 0 a UDP flow ends with its first datagram';
    yield unusable('udp_idle_timeout', message);
  }
}
