import { formatCidr, type Cidr } from '@weir/base/ip';
import {
  type AdviceStep,
  type TunFinding,
  FAMILIES,
  familyOfCidr,
  overlap,
  type Machine,
} from './machine.ts';

/** Texts that need no quotes in a command, with spaces between words. */
const PLAIN = /^[\w.:@/ =-]*$/;

/**
 * A command. Names of interfaces and chains come from the machine and may contain shell metacharacters: such a name is
 * replaced by a placeholder.
 */
export const sh = (
  texts: TemplateStringsArray,
  ...values: readonly (string | number)[]
): AdviceStep => ({
  kind: 'sh',
  text: texts
    .map((text, index) => {
      const value = String(values[index] ?? '');
      return text + (PLAIN.test(value) ? value : 'NAME');
    })
    .join(''),
});
export const toml = (text: string): AdviceStep => ({ kind: 'toml', text });
export const say = (text: string): AdviceStep => ({ kind: 'text', text });

/** Maximum length of an interface name: IFNAMSIZ of Linux, without the null byte. */
const LONGEST_NAME = 15;

/** Findings about the device itself: whether it can be created, its name and its addresses. */
export function* deviceFindings(machine: Machine): Generator<TunFinding> {
  yield* rightFindings(machine);
  yield* nameFindings(machine);
  yield* addressFindings(machine);
  yield* mtuFindings(machine);
}

function* rightFindings({ facts, own }: Machine): Generator<TunFinding> {
  const { deviceFile, rights } = facts;
  if (deviceFile === 'missing') {
    yield {
      id: 'tun-missing',
      severity: 'breaks',
      evidence: ['/dev/net/tun: no such device'],
      consequence: 'The device cannot be created.',
      advice: [
        sh`modprobe tun`,
        say('In a container, start it with --cap-add NET_ADMIN --device /dev/net/tun.'),
      ],
    };
  }
  // The service may have permissions that the user of this command lacks.
  const lacks = [
    ...(deviceFile === 'forbidden' ? ['/dev/net/tun: no permission'] : []),
    ...(rights?.netAdmin === false ? ['this process: no CAP_NET_ADMIN'] : []),
    ...(rights?.bindService === false ? ['this process: no CAP_NET_BIND_SERVICE'] : []),
  ];
  if (lacks.length > 0 && own === undefined) {
    yield {
      id: 'rights-missing',
      severity: 'note',
      evidence: lacks,
      consequence: 'Weir cannot create the device when it is started as this user.',
      advice: [
        say(
          'Start it as root, or as a service with AmbientCapabilities=CAP_NET_ADMIN CAP_NET_BIND_SERVICE and DeviceAllow=/dev/net/tun rw.',
        ),
      ],
    };
  }
}

function* nameFindings({ facts, inbound, own }: Machine): Generator<TunFinding> {
  const { name } = inbound;
  if (name === undefined) return;
  if (Buffer.byteLength(name) > LONGEST_NAME) {
    yield {
      id: 'interface-name-long',
      severity: 'breaks',
      evidence: [`name = ${JSON.stringify(name)}: ${Buffer.byteLength(name)} bytes`],
      consequence: 'The kernel refuses a name of more than 15 bytes.',
      advice: [toml('name = "weir0"')],
    };
  }
  const other = facts.network.links.find((link) => link.name === name && link !== own);
  if (other) {
    yield {
      id: 'interface-name-taken',
      severity: 'breaks',
      evidence: [`interface ${name}: exists, ${other.kind === '' ? 'hardware' : other.kind}`],
      consequence: 'The start fails, because Weir takes no existing device over.',
      advice: [toml(`name = "${freeName(facts.network.links.map((link) => link.name))}"`)],
    };
  }
}

function freeName(taken: readonly string[]): string {
  for (let number = 0; ; number++) if (!taken.includes(`weir${number}`)) return `weir${number}`;
}

/** Rarely used networks for advice; the first free one is proposed. */
const PROPOSED: Readonly<Record<4 | 6, readonly string[]>> = {
  4: ['10.255.255.1', '10.254.254.1', '198.18.255.1', '192.168.254.1'],
  6: ['fd19:7:3::1', 'fd19:7:4::1'],
};
const PROPOSED_PREFIX = { 4: 30, 6: 126 } as const;

/** The pools from which Docker allocates networks by default (`default-address-pools`). */
const DOCKER_POOLS: readonly Cidr[] = [
  ...Array.from({ length: 15 }, (_, index) => ({ address: `172.${17 + index}.0.0`, prefix: 16 })),
  { address: '192.168.0.0', prefix: 16 },
];

/** An address for the device that does not overlap with any network of this machine. */
function freeAddress(machine: Machine, family: 4 | 6): string {
  const taken = networksOf(machine).map(({ network }) => network);
  const found = PROPOSED[family].find((address) => {
    const proposed = { address, prefix: PROPOSED_PREFIX[family] };
    return !taken.some((network) => overlap(network, proposed));
  });
  return `${found ?? PROPOSED[family][0]}/${PROPOSED_PREFIX[family]}`;
}

/** The networks of this machine's interfaces and routes, without default routes. */
function networksOf(
  machine: Machine,
): readonly { readonly network: Cidr; readonly where: string }[] {
  const connected = machine.links.flatMap(({ name, addresses }) =>
    addresses.map((network) => ({ network, where: `interface ${name}` })),
  );
  const routed = FAMILIES.flatMap((family) => machine.mainRoutes(family))
    .filter(({ network, kind }) => network.prefix > 1 && kind === 'unicast')
    .map(({ network, devices }) => ({
      network,
      where: `route by ${machine.linkOf(devices[0])?.name ?? '-'}`,
    }));
  return [...connected, ...routed];
}

function* addressFindings(machine: Machine): Generator<TunFinding> {
  const { inbound } = machine;
  const networks = networksOf(machine);
  const replaced = (own: Cidr): string =>
    `address = ${JSON.stringify(inbound.addresses.map((each) => (each === own ? freeAddress(machine, familyOfCidr(own)) : formatCidr(each))))}`;
  for (const own of inbound.addresses) {
    const others = networks.filter(({ network }) => overlap(network, own));
    if (others.length > 0) {
      const shown = new Set(others.map(({ where, network }) => `${where}: ${formatCidr(network)}`));
      yield {
        id: 'address-overlap',
        severity: 'breaks',
        evidence: [`address = ${formatCidr(own)}`, ...shown],
        consequence:
          'Hosts that have addresses of both networks are not reached, or the device is not.',
        advice: [
          toml(replaced(own)),
          say('Name servers of this machine that name the old subnet have to follow.'),
        ],
      };
    } else if (machine.hasDocker && DOCKER_POOLS.some((pool) => overlap(pool, own))) {
      yield {
        id: 'address-in-docker-pool',
        severity: 'note',
        evidence: [
          `address = ${formatCidr(own)}`,
          'Docker: takes networks of 172.17.0.0/16 to 172.31.0.0/16 and of 192.168.0.0/16',
        ],
        consequence:
          'A network that Docker makes while Weir does not run may overlap with that of the device.',
        advice: [toml(replaced(own))],
      };
    }
    const file = 'net.ipv6.conf.default.disable_ipv6';
    const isDisabled = machine.setting(file) === '1' || !machine.facts.settings.has(file);
    if (familyOfCidr(own) === 6 && isDisabled) {
      yield {
        id: 'ipv6-disabled',
        severity: 'breaks',
        evidence: [
          `address = ${formatCidr(own)}`,
          `${file} = ${machine.setting(file) ?? '(no IPv6)'}`,
        ],
        consequence: 'The start fails, because the kernel refuses the address.',
        advice: [
          sh`sysctl -w ${file}=0`,
          say('Or leave IPv6 out of address and routes: no program of this machine has it.'),
        ],
      };
    }
  }
}

function* mtuFindings(machine: Machine): Generator<TunFinding> {
  const uplinks = new Set(FAMILIES.flatMap((family) => machine.uplinks(family)));
  const narrow = [...uplinks].filter(({ mtu }) => mtu > 0 && mtu < machine.inbound.mtu);
  if (narrow.length === 0) return;
  const least = Math.max(1280, Math.min(...narrow.map(({ mtu }) => mtu)));
  yield {
    id: 'mtu-above-uplink',
    severity: 'note',
    evidence: [
      `mtu = ${machine.inbound.mtu}`,
      ...narrow.map(({ name, mtu }) => `interface ${name}: mtu ${mtu}`),
    ],
    consequence:
      'Datagrams that fit the device, such as those of QUIC, may be fragmented or lost by the uplink.',
    advice: [toml(`mtu = ${least}`)],
  };
}
