import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { findingsOf } from '../../../../src/cli/tun/command.ts';
import type {
  CheckedInbound,
  TunFinding,
  MachineFacts,
  ResolverFacts,
} from '../../../../src/cli/tun/check/machine.ts';
import { readRuleset } from '../../../../src/cli/tun/check/firewall.ts';
import { page } from '../../../../../../test/support/docs/pages.ts';
import { cidr, INBOUND, LAPTOP, link, route, rule } from './machine-facts.ts';

type Change = (facts: MachineFacts) => Partial<MachineFacts>;

const find = (change: Change, inbound: Partial<CheckedInbound> = {}): readonly TunFinding[] =>
  findingsOf({ ...LAPTOP, ...change(LAPTOP) }, { ...INBOUND, ...inbound });

/** What a machine has beside the laptop's. */
const network =
  (more: Partial<MachineFacts['network']>): Change =>
  ({ network: own }) => ({
    network: {
      ...own,
      links: [...own.links, ...(more.links ?? [])],
      routes: [...own.routes, ...(more.routes ?? [])],
      rules: [...own.rules, ...(more.rules ?? [])],
    },
  });
const settings =
  (...changed: readonly (readonly [string, string | undefined])[]): Change =>
  ({ settings: own }) => {
    const all = new Map(own);
    for (const [name, value] of changed) {
      if (value === undefined) all.delete(name);
      else all.set(name, value);
    }
    return { settings: all };
  };
const resolver =
  (more: Partial<ResolverFacts>): Change =>
  ({ resolver: own }) => ({ resolver: { ...own, ...more } });
const asks = (address: string, more: Partial<ResolverFacts> = {}): Change =>
  resolver({ servers: [{ address, source: '/etc/resolv.conf' }], named: [address], ...more });
const both =
  (first: Change, second: Change): Change =>
  (facts) => {
    const changed = first(facts);
    return { ...changed, ...second({ ...facts, ...changed }) };
  };
const same: Change = () => ({});
const without6: Change = ({ network: own }) => ({
  network: { ...own, routes: own.routes.filter(({ family }) => family === 4) },
});

const DOCKER = link(5, 'docker0', ['172.17.0.1/16'], { kind: 'bridge' });
const WG = link(6, 'wg0', ['10.2.0.2/32'], { kind: 'wireguard' });
const HALVES = INBOUND.routes.slice(0, 2);

const nft = (...items: readonly unknown[]): Change => {
  const firewall = readRuleset(JSON.stringify({ nftables: items }));
  return () => ({ firewall });
};
const forwardChain = (policy: string) => ({
  chain: {
    family: 'inet',
    table: 'filter',
    name: 'forward',
    hook: 'forward',
    type: 'filter',
    prio: 0,
    policy,
  },
});
const forwardRule = (...expr: readonly unknown[]) => ({
  rule: { family: 'inet', table: 'filter', chain: 'forward', expr },
});
const interfaceIs = (key: 'iifname' | 'oifname', right: unknown) => ({
  match: { op: '==', left: { meta: { key } }, right },
});
const DNAT = [
  { chain: { family: 'ip', table: 'nat', name: 'DOCKER' } },
  {
    rule: { family: 'ip', table: 'nat', chain: 'DOCKER', expr: [{ dnat: { addr: '172.17.0.2' } }] },
  },
];

interface Case {
  readonly id: string;
  readonly severity: TunFinding['severity'];
  readonly has: Change;
  /** A machine that is like it but for what matters; the laptop unless given. */
  readonly hasNot?: Change;
  readonly inbound?: Partial<CheckedInbound>;
  /** The inbound of the case that has not. */
  readonly other?: Partial<CheckedInbound>;
  /** A line of the advice. */
  readonly advice: string;
}

const CASES: readonly Case[] = [
  {
    id: 'tun-missing',
    severity: 'breaks',
    has: () => ({ deviceFile: 'missing' }),
    advice: 'modprobe tun',
  },
  {
    id: 'rights-missing',
    severity: 'note',
    has: () => ({ rights: { netAdmin: false, bindService: true } }),
    hasNot: () => ({ rights: undefined }),
    advice: 'AmbientCapabilities=CAP_NET_ADMIN',
  },
  {
    id: 'interface-name-taken',
    severity: 'breaks',
    has: network({ links: [link(9, 'weir0', ['10.0.0.1/24'], { kind: 'tun' })] }),
    // Weir's own device, while it runs.
    hasNot: network({
      links: [link(9, 'weir0', ['172.19.0.1/30', 'fd19:7:3::1/126'], { kind: 'tun' })],
      routes: [route('0.0.0.0/1', 9), route('172.19.0.0/30', 9)],
    }),
    advice: 'name = "weir1"',
  },
  {
    id: 'interface-name-long',
    severity: 'breaks',
    has: same,
    inbound: { name: 'sixteen-bytes-xx' },
    other: { name: 'fifteen-bytes-x' },
    advice: 'name = "weir0"',
  },
  {
    id: 'address-overlap',
    severity: 'breaks',
    has: network({ links: [link(5, 'br-1234', ['172.19.0.1/16'], { kind: 'bridge' })] }),
    hasNot: network({ links: [DOCKER] }),
    advice: 'address = ["10.255.255.1/30","fd19:7:3::1/126"]',
  },
  {
    id: 'address-in-docker-pool',
    severity: 'note',
    has: network({ links: [DOCKER] }),
    advice: 'address = ["10.255.255.1/30","fd19:7:3::1/126"]',
  },
  {
    id: 'ipv6-disabled',
    severity: 'breaks',
    has: settings(['net.ipv6.conf.default.disable_ipv6', '1']),
    advice: 'sysctl -w net.ipv6.conf.default.disable_ipv6=0',
  },
  {
    id: 'mtu-above-uplink',
    severity: 'note',
    has: same,
    inbound: { mtu: 9000 },
    advice: 'mtu = 1500',
  },
  {
    id: 'route-taken',
    severity: 'breaks',
    // OpenVPN with redirect-gateway def1.
    has: network({
      links: [link(7, 'tun9', ['10.8.0.2/24'], { kind: 'tun' })],
      routes: [route('0.0.0.0/1', 7, { gateway: '10.8.0.1' })],
    }),
    advice: 'tun9',
  },
  {
    id: 'route-preferred',
    severity: 'leaks',
    has: same,
    inbound: { routes: [...HALVES, cidr('::/0')] },
    advice: 'halves',
  },
  {
    id: 'no-default-route',
    severity: 'breaks',
    has: ({ network: own }) => ({ network: { ...own, routes: [] } }),
    advice: 'Connect',
  },
  {
    id: 'no-default-route6',
    severity: 'note',
    has: without6,
    advice: 'Connect',
  },
  {
    id: 'default-by-tunnel',
    severity: 'note',
    has: network({ links: [WG], routes: [route('0.0.0.0/0', 6, { metric: 50 })] }),
    advice: 'avoids the device',
  },
  {
    id: 'rule-before-main',
    severity: 'leaks',
    // sing-box with auto_route.
    has: network({
      links: [link(8, 'tun0', ['172.18.0.1/30'], { kind: 'tun' })],
      routes: [route('0.0.0.0/0', 8, { table: 2022 })],
      rules: [rule(9001, { table: 2022 })],
    }),
    // Tailscale without an exit node.
    hasNot: network({
      links: [link(8, 'tailscale0', ['100.64.0.1/32'], { kind: 'tun' })],
      routes: [route('100.100.100.100/32', 8, { table: 52 })],
      rules: [rule(5270, { table: 52 })],
    }),
    advice: 'ip rule del priority 9001',
  },
  {
    id: 'other-vpn',
    severity: 'breaks',
    has: network({
      links: [WG],
      routes: [route('0.0.0.0/0', 6, { table: 51_820 })],
      rules: [
        rule(32_764, { suppressed: 0 }),
        rule(32_765, { table: 51_820, mark: 0xca6c, mask: 0xffff_ffff, isInverted: true }),
      ],
    }),
    advice: 'ip route add SERVER via 192.168.1.1 dev eth0',
  },
  {
    id: 'policy-rules',
    severity: 'note',
    has: network({ rules: [rule(100, { table: 200, mark: 1, mask: 0xff })] }),
    advice: 'Look whether that is meant',
  },
  {
    id: 'rp-filter-strict',
    severity: 'breaks',
    has: settings(['net.ipv4.conf.eth0.rp_filter', '1']),
    hasNot: settings(['net.ipv4.conf.eth0.rp_filter', '1'], ['net.ipv4.conf.all.rp_filter', '2']),
    advice: 'sysctl -w net.ipv4.conf.all.rp_filter=2',
  },
  {
    id: 'rp-filter-default',
    severity: 'note',
    has: settings(['net.ipv4.conf.default.rp_filter', '1']),
    advice: 'sysctl -w net.ipv4.conf.all.rp_filter=2',
  },
  {
    id: 'no-default-cover',
    severity: 'note',
    has: same,
    inbound: { routes: [cidr('198.51.100.0/24')] },
    advice: 'routes = ["0.0.0.0/1"',
  },
  {
    id: 'ipv6-leak',
    severity: 'leaks',
    has: same,
    inbound: { routes: HALVES, addresses: INBOUND.addresses.slice(0, 1) },
    advice: 'routes = ["0.0.0.0/1","128.0.0.0/1","::/1","8000::/1"]',
  },
  {
    id: 'ipv4-leak',
    severity: 'leaks',
    has: same,
    inbound: { routes: INBOUND.routes.slice(2) },
    advice: '"0.0.0.0/1","128.0.0.0/1"',
  },
  {
    id: 'forwarding-off',
    severity: 'breaks',
    has: same,
    inbound: { isGateway: true },
    hasNot: settings(['net.ipv4.ip_forward', '1']),
    other: { isGateway: true },
    advice: 'sysctl -w net.ipv4.ip_forward=1',
  },
  {
    id: 'forwarding6-off',
    severity: 'breaks',
    has: same,
    inbound: { isGateway: true },
    advice: 'sysctl -w net.ipv6.conf.all.forwarding=1',
  },
  {
    id: 'router-advertisements-ignored',
    severity: 'breaks',
    has: settings(['net.ipv6.conf.all.forwarding', '1']),
    hasNot: settings(['net.ipv6.conf.all.forwarding', '1'], ['net.ipv6.conf.eth0.accept_ra', '2']),
    advice: 'sysctl -w net.ipv6.conf.eth0.accept_ra=2',
  },
  {
    id: 'forward-dropped',
    severity: 'breaks',
    has: both(
      network({ links: [DOCKER] }),
      nft(forwardChain('drop'), forwardRule(interfaceIs('oifname', 'eth0'), { accept: null })),
    ),
    hasNot: both(
      network({ links: [DOCKER] }),
      nft(
        forwardChain('drop'),
        forwardRule(interfaceIs('oifname', 'weir*'), { accept: null }),
        forwardRule(interfaceIs('iifname', { set: ['eth0', 'weir0'] }), { accept: null }),
      ),
    ),
    advice: `nft 'insert rule inet filter forward oifname "weir0" accept'`,
  },
  {
    id: 'forward-dropped6',
    severity: 'breaks',
    has: both(
      network({ links: [link(5, 'virbr0', ['fd01::1/64'], { kind: 'bridge' })] }),
      nft(forwardChain('drop')),
    ),
    hasNot: both(
      network({ links: [link(5, 'virbr0', ['fe80::1/64'], { kind: 'bridge' })] }),
      nft(forwardChain('drop')),
    ),
    advice: `nft 'insert rule inet filter forward oifname "weir0" accept'`,
  },
  {
    id: 'bridges',
    severity: 'note',
    has: network({ links: [link(5, 'lxcbr0', ['10.0.3.1/24'], { kind: 'bridge' })] }),
    advice: 'source_cidr',
  },
  {
    id: 'clients-from-outside',
    severity: 'breaks',
    has: ({ network: own }) => ({
      network: { ...own, links: [link(2, 'eth0', ['203.0.113.4/24'])] },
    }),
    hasNot: ({ network: own }) => ({
      network: {
        ...own,
        links: [link(2, 'eth0', ['203.0.113.4/24'])],
        routes: [...own.routes, route('0.0.0.0/0', 2, { table: 100 })],
        rules: [rule(100, { from: cidr('203.0.113.4/32'), table: 100 })],
      },
    }),
    advice: 'ip rule add from 203.0.113.4 lookup 100',
  },
  {
    id: 'clients-from-outside6',
    severity: 'breaks',
    has: ({ network: own }) => ({
      network: { ...own, links: [link(2, 'eth0', ['2001:db8::4/64'])] },
    }),
    advice: 'ip -6 rule add from 2001:db8::4 lookup 100',
  },
  {
    id: 'published-ports',
    severity: 'breaks',
    has: both(network({ links: [DOCKER] }), nft(...DNAT)),
    hasNot: network({ links: [DOCKER] }),
    advice: 'ip rule add fwmark 0x77656972 lookup 100',
  },
  {
    id: 'published-ports6',
    severity: 'breaks',
    has: both(network({ links: [{ ...DOCKER, addresses: [cidr('fd01::1/64')] }] }), nft(...DNAT)),
    advice: 'ip -6 rule add fwmark 0x77656972 lookup 100',
  },
  {
    id: 'resolver-past-device',
    severity: 'leaks',
    has: asks('192.168.1.1'),
    advice: "echo 'nameserver 172.19.0.2' > /etc/resolv.conf",
  },
  {
    id: 'resolver-past-device',
    severity: 'leaks',
    has: asks('192.168.1.1', { writer: 'NetworkManager' }),
    advice: 'nmcli general reload',
  },
  {
    id: 'resolver-past-device',
    severity: 'leaks',
    has: asks('fe80::ff%eth0', { writer: 'resolvconf' }),
    advice: "echo 'nameserver 172.19.0.2' | resolvconf -x -a weir0",
  },
  {
    id: 'resolver-past-device',
    severity: 'leaks',
    has: resolver({
      servers: [{ address: '192.168.1.1', source: 'systemd-resolved' }],
      perLink: ['eth0: 192.168.1.1'],
    }),
    advice: 'systemctl restart systemd-resolved',
  },
  {
    id: 'resolver-local',
    severity: 'note',
    has: asks('127.0.0.1'),
    advice: "echo 'nameserver 172.19.0.2' > /etc/resolv.conf",
  },
  {
    id: 'resolver-through-device',
    severity: 'note',
    has: asks('198.51.100.53'),
    advice: "echo 'nameserver 172.19.0.2' > /etc/resolv.conf",
  },
  {
    id: 'dns-without-server',
    severity: 'breaks',
    has: same,
    inbound: { dns: { backend: 'system' } },
    advice: 'backend = "https"',
  },
  {
    id: 'port-53-taken',
    severity: 'note',
    has: () => ({ listeners: [{ address: '0.0.0.0', network: 'udp', program: 'dnsmasq' }] }),
    hasNot: () => ({
      listeners: [{ address: '127.0.0.53', network: 'udp', program: 'systemd-resolve' }],
    }),
    advice: '172.19.0.2',
  },
  {
    id: 'multicast-names',
    severity: 'note',
    has: resolver({ sources: ['files', 'mdns4_minimal', 'dns'] }),
    advice: 'mdns',
  },
  {
    id: 'network-manager',
    severity: 'note',
    has: resolver({ hasNetworkManager: true }),
    hasNot: resolver({ hasNetworkManager: true, unmanaged: ['interface-name:weir*'] }),
    advice: 'unmanaged-devices+=interface-name:weir0',
  },
  {
    id: 'browsers-encrypt',
    severity: 'note',
    has: same,
    other: { routes: [] },
    advice: 'sniffing',
  },
];

describe('what weir tun check finds', () => {
  test('nothing breaks or leaks on a machine that is in order', () => {
    const bad = find(same).filter(({ severity }) => severity !== 'note');
    assert.deepEqual(bad, []);
  });

  for (const { id, severity, has, hasNot = same, inbound, other = {}, advice } of CASES) {
    test(`${id}: ${advice}`, () => {
      const found = find(has, inbound).find((each) => each.id === id);
      assert.ok(found, `${id} was not found`);
      assert.equal(found.severity, severity);
      assert.ok(found.evidence.length > 0 && found.consequence.endsWith('.'));
      const texts = found.advice.map(({ text }) => text).join('\n');
      assert.ok(texts.includes(advice), texts);
      assert.ok(!find(hasNot, other).some((each) => each.id === id), `${id} is found elsewhere`);
    });
  }

  test('the page lists every id with its severity', () => {
    const { text } = page('docs/tun.md');
    for (const { id, severity } of CASES) {
      const rows = text.split('\n').filter((line) => line.startsWith('| `'));
      const names = [id, id.replace(/6(?=$|-)/, '')].map((name) => `\`${name}\``);
      const row = rows.find((line) => names.some((name) => line.includes(name)));
      assert.ok(row !== undefined, `${id} is not on the page`);
      assert.ok(row.includes(severity), `${id} is ${severity}`);
    }
  });

  test('names that a shell would act on are not in commands', () => {
    const name = 'x;reboot`$';
    const found = find(({ network: own }) => ({
      network: { ...own, links: [link(2, name, ['203.0.113.4/24'])] },
    }));
    const commands = found.flatMap(({ advice }) => advice).filter(({ kind }) => kind === 'sh');
    assert.ok(commands.some(({ text }) => text.includes('NAME')));
    assert.ok(!commands.some(({ text }) => text.includes('reboot')));
  });

  test('the worst comes first', () => {
    const found = find(both(asks('192.168.1.1'), () => ({ deviceFile: 'missing' as const })));
    assert.deepEqual(
      [...new Set(found.map(({ severity }) => severity))],
      ['breaks', 'leaks', 'note'],
    );
  });
});
