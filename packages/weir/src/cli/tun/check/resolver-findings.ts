import type { SystemResolver } from '@weir/proxy/dns/system';
import { nameServer } from '@weir/proxy/protocols/tun/system-resolver';
import { say, sh, toml } from './device-findings.ts';
import type {
  AdviceStep,
  TunFinding,
  NameListener,
  Severity,
  Machine,
  EgressPath,
} from './machine.ts';

/** Findings about the resolver of names, and the path of its queries. */
export function* resolverFindings(machine: Machine): Generator<TunFinding> {
  if (machine.coversAny) {
    yield* serverFindings(machine);
    yield* sourceFindings(machine);
    yield* managerFindings(machine);
    yield {
      id: 'browsers-encrypt',
      severity: 'note',
      evidence: ['browsers: not looked at'],
      consequence:
        'A browser with DNS over HTTPS asks its own server through the device, and [dns] does not answer it.',
      advice: [
        say(
          'Rules by domain still work by sniffing; to have [dns] answer, turn "secure DNS" off in the browser.',
        ),
      ],
    };
  }
  yield* ownDnsFindings(machine);
  yield* listenerFindings(machine);
}

const SEVERITIES: Readonly<Record<EgressPath, Severity | undefined>> = {
  subnet: undefined,
  none: undefined,
  uplink: 'leaks',
  host: 'note',
  device: 'note',
};

const CONSEQUENCES: Readonly<Record<'uplink' | 'host' | 'device', string>> = {
  uplink:
    'Names that programs ask for leave past the device by the uplink, in most cases in clear.',
  host: 'Which servers this program of the machine asks is not known here; they may be past the device.',
  device:
    'Questions go through the device by the rules like other flows, and [dns] does not answer them.',
};
const IDS = {
  uplink: 'resolver-past-device',
  host: 'resolver-local',
  device: 'resolver-through-device',
} as const;

function* serverFindings(machine: Machine): Generator<TunFinding> {
  const { servers, perLink, link } = machine.facts.resolver;
  const byPath = Map.groupBy(servers, ({ address }) => machine.pathTo(address));
  for (const way of ['uplink', 'host', 'device'] as const) {
    const severity = SEVERITIES[way];
    const found = byPath.get(way) ?? [];
    if (severity === undefined || found.length === 0) continue;
    yield {
      id: IDS[way],
      severity,
      evidence: [
        ...(link === undefined || link === '' ? [] : [`/etc/resolv.conf: link to ${link}`]),
        ...found.map(
          (server) => `${server.source}: nameserver ${server.address}${programAt(machine, server)}`,
        ),
        ...(way === 'uplink' ? perLink.map((text) => `systemd-resolved, link ${text}`) : []),
      ],
      consequence: CONSEQUENCES[way],
      advice: resolverAdvice(machine),
    };
  }
}

function programAt(machine: Machine, { address }: SystemResolver): string {
  const found = machine.facts.listeners.find((each) => each.address === address)?.program;
  return found === undefined ? '' : ` (${found})`;
}

/** The recipe of docs/tun.md for the program that writes the resolver's configuration on this machine. */
function resolverAdvice({ facts, inbound, device }: Machine): readonly AdviceStep[] {
  const server = nameServer(inbound.addresses);
  if (server === undefined) return [toml('address = ["10.255.255.1/30", "fd19:7:3::1/126"]')];
  const { resolver } = facts;
  if (resolver.servers.some(({ source }) => source === 'systemd-resolved')) {
    return [
      sh`mkdir -p /etc/systemd/resolved.conf.d`,
      sh`printf '[Resolve]\\nDNS=${server}\\nDomains=~.\\n' > /etc/systemd/resolved.conf.d/weir.conf`,
      sh`systemctl restart systemd-resolved`,
    ];
  }
  if (resolver.writer === 'NetworkManager') {
    return [
      sh`printf '[global-dns-domain-*]\\nservers=${server}\\n\\n[keyfile]\\nunmanaged-devices+=interface-name:${device}\\n' > /etc/NetworkManager/conf.d/weir.conf`,
      sh`nmcli general reload`,
    ];
  }
  if (resolver.writer === 'resolvconf') {
    return [sh`echo 'nameserver ${server}' | resolvconf -x -a ${device}`];
  }
  return [
    sh`mv /etc/resolv.conf /etc/resolv.conf.before-weir`,
    sh`echo 'nameserver ${server}' > /etc/resolv.conf`,
  ];
}

function* sourceFindings({ facts }: Machine): Generator<TunFinding> {
  const { sources } = facts.resolver;
  const multicast = sources.filter((each) => each.startsWith('mdns'));
  if (multicast.length > 0) {
    yield {
      id: 'multicast-names',
      severity: 'note',
      evidence: [`/etc/nsswitch.conf: hosts: ${sources.join(' ')}`],
      consequence:
        'Names below .local are asked for in the local network by multicast, past the device.',
      advice: [
        say(
          'Leave it if hosts of the local network are used by name; else remove the mdns words from the line.',
        ),
      ],
    };
  }
}

function* managerFindings(machine: Machine): Generator<TunFinding> {
  const { hasNetworkManager, unmanaged } = machine.facts.resolver;
  if (!hasNetworkManager || isUnmanaged(unmanaged, machine.device)) return;
  yield {
    id: 'network-manager',
    severity: 'note',
    evidence: [
      '/run/NetworkManager: it runs',
      `unmanaged-devices = ${unmanaged.length === 0 ? '(none)' : unmanaged.join(';')}`,
    ],
    consequence: 'NetworkManager may take the device for one of its own, and change its addresses.',
    advice: [
      sh`printf '[keyfile]\\nunmanaged-devices+=interface-name:${machine.device}\\n' > /etc/NetworkManager/conf.d/90-weir.conf`,
      sh`nmcli general reload`,
    ],
  };
}

/** Whether patterns of NetworkManager.conf(5) match a device: `interface-name:weir0`, `interface-name:weir*`. */
export function isUnmanaged(patterns: readonly string[], device: string): boolean {
  return patterns.some((pattern) => {
    const name = pattern.replace(/^interface-name:=?/, '');
    if (name === pattern) return pattern === '*' || pattern === 'type:tun';
    return name.endsWith('*') ? device.startsWith(name.slice(0, -1)) : name === device;
  });
}

function* ownDnsFindings(machine: Machine): Generator<TunFinding> {
  const { inbound, facts } = machine;
  if (inbound.dns.backend !== 'system') return;
  const loops = facts.resolver.servers.filter(
    ({ address }) => machine.pathTo(address) === 'subnet',
  );
  const isLoop = loops.length > 0;
  if (!isLoop && !machine.coversAny) return;
  yield {
    id: 'dns-without-server',
    severity: isLoop ? 'breaks' : 'note',
    evidence: [
      '[dns]: backend = "system"',
      ...loops.map(({ address, source }) => `${source}: nameserver ${address}`),
    ],
    consequence: isLoop
      ? "Weir's own lookups ask the device, which asks Weir: names are not found."
      : "Weir's own lookups use the servers of the machine, which may not be the device's.",
    advice: [
      toml(
        '[dns]\nbackend = "https"\nserver = "192.0.2.53:443"\nurl = "https://dns.example.com/dns-query"',
      ),
    ],
  };
}

const WILDCARDS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

function* listenerFindings(machine: Machine): Generator<TunFinding> {
  const { inbound, facts, own } = machine;
  const blocking = facts.listeners.filter(
    ({ address, program }) =>
      WILDCARDS.has(address) &&
      inbound.addresses.length > 0 &&
      // A Weir that listens on all addresses is checked by its own configuration.
      !(own !== undefined && program === 'weir'),
  );
  if (blocking.length === 0) return;
  const addresses = new Set(inbound.addresses.map(({ address }) => address));
  const isAsked = facts.resolver.named.some((address) => addresses.has(address));
  const server = nameServer(inbound.addresses) ?? '';
  yield {
    id: 'port-53-taken',
    severity: isAsked && !addresses.has(server) ? 'breaks' : 'note',
    evidence: blocking.map(listenerText),
    consequence: `[dns] cannot listen at the device's own address; it answers at ${server === '' ? 'none' : server}.`,
    advice: isAsked
      ? [sh`echo 'nameserver ${server}' > /etc/resolv.conf`]
      : [say(`Name ${server} as the name server, not the device's own address.`)],
  };
}

const listenerText = ({ address, network, program }: NameListener): string =>
  `${network} ${address.includes(':') ? `[${address}]` : address}:53: ${program ?? 'a program'}`;
