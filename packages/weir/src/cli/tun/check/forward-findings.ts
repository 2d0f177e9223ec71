import { addressInNetwork, formatCidr, type Cidr } from '@weir/base/ip';
import type { MachineLink } from '@weir/io/netlink';
import { say, sh } from './device-findings.ts';
import {
  type AdviceStep,
  type TunFinding,
  FAMILIES,
  familyOfCidr,
  hasFamily,
  isLoopback,
  type Family,
  type Machine,
} from './machine.ts';
import { droppingChain } from './firewall.ts';

/** Findings about packets that the machine forwards, and about clients from outside. */
export function* forwardFindings(machine: Machine): Generator<TunFinding> {
  yield* forwardingFindings(machine);
  yield* firewallFindings(machine);
  yield* bridgeFindings(machine);
  yield* clientFindings(machine);
}

const FORWARDING: Readonly<Record<Family, string>> = {
  4: 'net.ipv4.ip_forward',
  6: 'net.ipv6.conf.all.forwarding',
};

function* forwardingFindings(machine: Machine): Generator<TunFinding> {
  const { inbound } = machine;
  for (const family of FAMILIES) {
    const name = FORWARDING[family];
    const value = machine.setting(name);
    const isUsed =
      machine.covers(family) && inbound.addresses.some((own) => familyOfCidr(own) === family);
    if (inbound.isGateway && isUsed && value === '0') {
      yield {
        id: family === 4 ? 'forwarding-off' : 'forwarding6-off',
        severity: 'breaks',
        evidence: [`${name} = ${value}`],
        consequence: 'The packets of other machines are dropped, and do not reach the device.',
        advice: [
          sh`echo '${name} = 1' > /etc/sysctl.d/90-weir-forward${family === 4 ? '' : '6'}.conf`,
          sh`sysctl -w ${name}=1`,
        ],
      };
    }
  }
  if (machine.setting(FORWARDING[6]) !== '1') return;
  // RTPROT_RA
  const advertised = machine.defaultRoutes(6).filter(({ protocol }) => protocol === 9);
  const names = advertised
    .flatMap(({ devices }) => devices.map((index) => machine.linkOf(index)?.name ?? ''))
    .filter((name) => name !== '' && machine.setting(`net.ipv6.conf.${name}.accept_ra`) === '1');
  for (const name of new Set(names)) {
    const key = `net.ipv6.conf.${name}.accept_ra`;
    yield {
      id: 'router-advertisements-ignored',
      severity: 'breaks',
      evidence: [
        `${FORWARDING[6]} = 1`,
        `${key} = 1`,
        `IPv6 default route by ${name}: from a router advertisement`,
      ],
      consequence:
        'A machine that forwards ignores router advertisements, so its IPv6 route expires.',
      advice: [sh`sysctl -w ${key}=2`],
    };
  }
}

/** The interfaces whose clients use this machine as their router. */
function servedLinks(machine: Machine): readonly MachineLink[] {
  if (!machine.inbound.isGateway) return machine.bridges;
  const uplinks = new Set(FAMILIES.flatMap((family) => machine.uplinks(family)));
  const others = machine.links.filter(
    (link) =>
      link.isUp &&
      !machine.isTunnel(link) &&
      !uplinks.has(link) &&
      link.addresses.some(({ address }) => !isLoopback(address)),
  );
  // A router with a single interface: clients arrive through the uplink.
  return others.length > machine.bridges.length ? others : [...others, ...uplinks];
}

function* firewallFindings(machine: Machine): Generator<TunFinding> {
  const { firewall } = machine.facts;
  if (!firewall) return;
  for (const family of FAMILIES) {
    if (!machine.covers(family)) continue;
    const dropped = servedLinks(machine).flatMap((link) => {
      if (!hasFamily(link, family)) return [];
      const { name } = link;
      const there = { from: name, to: machine.device, family, isNew: true };
      const back = { from: machine.device, to: name, family, isNew: false };
      const ways = [there, back].flatMap((packet) => {
        const chain = droppingChain(firewall, packet);
        return chain === undefined ? [] : [{ ...packet, chain }];
      });
      return ways;
    });
    if (dropped.length === 0) continue;
    const chains = [...new Set(dropped.map(({ chain }) => chain))];
    const names = [...new Set(dropped.flatMap(({ from, to }) => [from, to]))].filter(
      (name) => name !== machine.device,
    );
    yield {
      id: family === 4 ? 'forward-dropped' : 'forward-dropped6',
      severity: 'breaks',
      evidence: dropped.map(({ from, to, chain }) => `chain ${chain}: drops ${from} to ${to}`),
      consequence: `${names.join(', ')}: packets to and from the device are dropped by the firewall.`,
      advice: chains.flatMap((chain): AdviceStep[] => [
        sh`nft 'insert rule ${chain} oifname "${machine.device}" accept'`,
        sh`nft 'insert rule ${chain} iifname "${machine.device}" ct state established,related accept'`,
      ]),
    };
  }
}

function* bridgeFindings(machine: Machine): Generator<TunFinding> {
  const { bridges } = machine;
  if (bridges.length === 0 || !machine.coversAny) return;
  yield {
    id: 'bridges',
    severity: 'note',
    evidence: bridges.map(
      ({ name, addresses }) => `interface ${name}: ${addresses.map(formatCidr).join(', ')}`,
    ),
    consequence:
      'Containers and virtual machines behind these bridges go through the device as well.',
    advice: [
      say(
        'Where their engine masquerades, flows have the address of the device as their source; else rules with source_cidr tell them apart.',
      ),
    ],
  };
}

const PRIVATE: readonly Cidr[] = [
  { address: '10.0.0.0', prefix: 8 },
  { address: '172.16.0.0', prefix: 12 },
  { address: '192.168.0.0', prefix: 16 },
  { address: '100.64.0.0', prefix: 10 },
  { address: '169.254.0.0', prefix: 16 },
  { address: 'fc00::', prefix: 7 },
  { address: 'fe80::', prefix: 10 },
];

const isPublic = ({ address }: Cidr): boolean =>
  !PRIVATE.some((network) => addressInNetwork(address, network));

/** Routing table number used in advice. */
const TABLE = 100;
const MARK = '0x77656972';

function* clientFindings(machine: Machine): Generator<TunFinding> {
  for (const family of FAMILIES) {
    if (!machine.covers(family)) continue;
    const uplink = machine.uplinks(family)[0];
    const route = machine.defaultRoutes(family)[0];
    if (!uplink || !route) continue;
    const ip = family === 4 ? 'ip' : 'ip -6';
    const hop = route.gateway === '' ? '' : `via ${route.gateway} `;
    const way = `${ip} route add default ${hop}dev ${uplink.name} table ${TABLE}`;
    const own = uplink.addresses.filter((each) => familyOfCidr(each) === family);
    const unanswered = own.filter(
      (each) => isPublic(each) && !hasRuleFrom(machine, family, each.address),
    );
    if (unanswered.length > 0) {
      yield {
        id: family === 4 ? 'clients-from-outside' : 'clients-from-outside6',
        severity: 'breaks',
        evidence: unanswered.map((each) => `interface ${uplink.name}: ${formatCidr(each)}`),
        consequence:
          'Clients from outside that connect to this address get no responses once the device is there, SSH sessions included.',
        advice: [
          sh`${way}`,
          ...unanswered.map(({ address }) => sh`${ip} rule add from ${address} lookup ${TABLE}`),
        ],
      };
    }
    yield* publishedPorts(machine, family, uplink.name, way);
  }
}

/** Whether a rule sends packets from an address to a table of their own that has a route. */
const hasRuleFrom = (machine: Machine, family: Family, address: string): boolean =>
  machine
    .rules(family)
    .some(
      ({ from, table, isInverted }) =>
        from !== undefined &&
        !isInverted &&
        addressInNetwork(address, from) &&
        table !== undefined &&
        machine.tableCovers(table, family).length > 0,
    );

function* publishedPorts(
  machine: Machine,
  family: Family,
  uplink: string,
  way: string,
): Generator<TunFinding> {
  const { firewall } = machine.facts;
  const isServed = machine.bridges.some((link) => hasFamily(link, family));
  if (firewall?.hasPortForwards !== true || !isServed) return;
  const hasRule = machine
    .rules(family)
    .some(
      ({ mark, table }) =>
        mark !== 0 && table !== undefined && machine.tableCovers(table, family).length > 0,
    );
  if (hasRule && firewall.marksConnections) return;
  const ip = family === 4 ? 'ip' : 'ip -6';
  const table = 'inet weir_published';
  yield {
    id: family === 4 ? 'published-ports' : 'published-ports6',
    severity: 'breaks',
    evidence: [
      'nft: rules with dnat, such as those of published ports',
      `bridges: ${machine.bridges.map(({ name }) => name).join(', ')}`,
    ],
    consequence:
      'Clients from beyond the connected networks reach no published port, because responses of containers go to the device.',
    advice: [
      sh`nft add table ${table}`,
      sh`nft 'add chain ${table} prerouting { type filter hook prerouting priority mangle; }'`,
      sh`nft 'add rule ${table} prerouting iifname "${uplink}" ct state new ct mark set ${MARK}'`,
      sh`nft 'add rule ${table} prerouting iifname != "${uplink}" ct mark ${MARK} meta mark set ct mark'`,
      sh`${way}`,
      sh`${ip} rule add fwmark ${MARK} lookup ${TABLE}`,
    ],
  };
}
