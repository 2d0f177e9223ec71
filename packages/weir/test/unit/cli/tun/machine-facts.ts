import assert from 'node:assert/strict';
import type { CheckedInbound, MachineFacts } from '../../../../src/cli/tun/check/machine.ts';
import { parseInterfaceAddress, type Cidr } from '@weir/base/ip';
import type { MachineLink, MachineRoute, MachineRule } from '@weir/io/netlink';

export function cidr(text: string): Cidr {
  const parsed = parseInterfaceAddress(text);
  assert.ok(!('problem' in parsed), text);
  return parsed;
}

export const link = (
  index: number,
  name: string,
  addresses: readonly string[],
  more: Partial<MachineLink> = {},
): MachineLink => ({
  index,
  name,
  kind: '',
  mtu: 1500,
  isUp: true,
  master: 0,
  addresses: addresses.map(cidr),
  ...more,
});

export const MAIN = 254;

export const route = (
  network: string,
  device: number,
  more: Partial<MachineRoute> = {},
): MachineRoute => ({
  family: network.includes(':') ? 6 : 4,
  table: MAIN,
  network: cidr(network),
  metric: network.includes(':') ? 1024 : 0,
  kind: 'unicast',
  devices: [device],
  gateway: '',
  protocol: 3,
  ...more,
});

export const rule = (priority: number, more: Partial<MachineRule> = {}): MachineRule => ({
  family: 4,
  priority,
  table: MAIN,
  suppressed: -1,
  mark: 0,
  mask: 0,
  from: undefined,
  to: undefined,
  inInterface: undefined,
  outInterface: undefined,
  hasUsers: false,
  isInverted: false,
  ...more,
});

/** A machine behind a router, at which nothing breaks or leaks. */
export const LAPTOP: MachineFacts = {
  network: {
    links: [
      link(1, 'lo', ['127.0.0.1/8', '::1/128'], { mtu: 65_536 }),
      link(2, 'eth0', ['192.168.1.20/24', 'fe80::1/64', 'fd00:1::20/64']),
    ],
    routes: [
      route('0.0.0.0/0', 2, { gateway: '192.168.1.1', metric: 100 }),
      route('192.168.1.0/24', 2),
      route('::/0', 2, { gateway: 'fe80::ff', metric: 100, protocol: 9 }),
    ],
    rules: [rule(0, { table: 255 }), rule(32_766), rule(32_767, { table: 253 })],
    cut: [],
  },
  settings: new Map([
    ['net.ipv4.ip_forward', '0'],
    ['net.ipv4.conf.all.rp_filter', '0'],
    ['net.ipv4.conf.default.rp_filter', '0'],
    ['net.ipv4.conf.eth0.rp_filter', '0'],
    ['net.ipv6.conf.all.forwarding', '0'],
    ['net.ipv6.conf.default.disable_ipv6', '0'],
    ['net.ipv6.conf.eth0.accept_ra', '1'],
  ]),
  deviceFile: 'usable',
  rights: { netAdmin: true, bindService: true },
  listeners: [],
  resolver: {
    servers: [{ address: '172.19.0.2', source: '/etc/resolv.conf' }],
    named: ['172.19.0.2'],
    link: '',
    writer: undefined,
    sources: ['files', 'dns'],
    perLink: [],
    hasNetworkManager: false,
    unmanaged: [],
  },
  firewall: { chains: new Map(), hasPortForwards: false, marksConnections: false },
  unread: [],
};

export const INBOUND: CheckedInbound = {
  tag: 'tun',
  name: 'weir0',
  mtu: 1500,
  addresses: ['172.19.0.1/30', 'fd19:7:3::1/126'].map(cidr),
  routes: ['0.0.0.0/1', '128.0.0.0/1', '::/1', '8000::/1'].map(cidr),
  dns: { backend: 'udp', server: { host: '192.0.2.53', port: 53 } },
  isGateway: false,
};
