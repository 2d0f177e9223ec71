import { formatCidr, type Cidr } from '@weir/base/ip';
import { type MachineRoute, type MachineRule, RT_TABLE_MAIN } from '@weir/io/netlink';
import { say, sh, toml } from './device-findings.ts';
import { type TunFinding, FAMILIES, familyOfCidr, type Family, type Machine } from './machine.ts';

/** Findings about routes, policy routing rules, and reverse path filtering. */
export function* routeFindings(machine: Machine): Generator<TunFinding> {
  yield* takenRoutes(machine);
  for (const family of FAMILIES) {
    yield* uplinkFindings(machine, family);
    yield* ruleFindings(machine, family);
  }
  yield* returnPathFindings(machine);
  yield* uncoveredFindings(machine);
}

/** The default metric of a route. */
const USUAL_METRIC: Readonly<Record<Family, number>> = { 4: 0, 6: 1024 };

const ipCommand = (family: Family): string => (family === 4 ? 'ip' : 'ip -6');

export function routeText(machine: Machine, { network, gateway, devices, metric }: MachineRoute) {
  const hop = gateway === '' ? '' : ` via ${gateway}`;
  const names = devices.map((index) => machine.linkOf(index)?.name ?? `interface ${index}`);
  return `${formatCidr(network)}${hop} dev ${names.join(', ')} metric ${metric}`;
}

function* takenRoutes(machine: Machine): Generator<TunFinding> {
  for (const own of machine.inbound.routes) {
    const family = familyOfCidr(own);
    const others = machine
      .mainRoutes(family)
      .filter(({ network }) => formatCidr(network) === formatCidr(own));
    const taken = others.find(({ metric }) => metric === USUAL_METRIC[family]);
    if (taken) {
      const isDefault = own.prefix === 0;
      const halves = family === 4 ? '"0.0.0.0/1", "128.0.0.0/1"' : '"::/1", "8000::/1"';
      yield {
        id: 'route-taken',
        severity: 'breaks',
        evidence: [`routes: ${formatCidr(own)}`, `route: ${routeText(machine, taken)}`],
        consequence: 'The start fails, because such a route exists already.',
        advice: isDefault
          ? [toml(`routes = [${halves}]`)]
          : [
              say(
                `Stop the program that has made it (${machine.linkOf(taken.devices[0])?.name ?? 'its interface is unknown'}), or leave the route out.`,
              ),
            ],
      };
    }
    const better = others.find(({ metric }) => metric < USUAL_METRIC[family]);
    if (better) {
      yield {
        id: 'route-preferred',
        severity: 'leaks',
        evidence: [`routes: ${formatCidr(own)}`, `route: ${routeText(machine, better)}`],
        consequence: 'Packets take the other route, whose metric is lower, and not the device.',
        advice: [say('Use the two halves ::/1 and 8000::/1 in routes, which are more specific.')],
      };
    }
  }
}

function* uplinkFindings(machine: Machine, family: Family): Generator<TunFinding> {
  if (!machine.covers(family)) return;
  const routes = machine.defaultRoutes(family);
  if (routes.length === 0) {
    yield {
      id: family === 4 ? 'no-default-route' : 'no-default-route6',
      severity: family === 4 && machine.defaultRoutes(6).length === 0 ? 'breaks' : 'note',
      evidence: [`IPv${family}: no default route in the table main`],
      consequence: `Weir's own connections to IPv${family} addresses fail at once, as on a machine that is offline.`,
      advice: [
        say('Connect the machine; nothing has to be changed if it has only the other family.'),
      ],
    };
    return;
  }
  const tunnels = routes.filter(({ devices }) =>
    devices.some((index) => machine.isTunnel(machine.linkOf(index))),
  );
  if (tunnels.length > 0) {
    yield {
      id: 'default-by-tunnel',
      severity: 'note',
      evidence: tunnels.map((route) => `route: ${routeText(machine, route)}`),
      consequence: "Weir's own connections leave by the tunnel of another program.",
      advice: [
        say(
          'That program needs a route to its server that avoids the device; without one, both wait for each other.',
        ),
      ],
    };
  }
}

/** Programs recognised by the rules that they create. */
const KNOWN_RULES: readonly {
  readonly program: string;
  readonly fits: (rule: MachineRule) => boolean;
}[] = [
  {
    program: 'Tailscale',
    fits: ({ priority, table }) => table === 52 || (priority >= 5210 && priority <= 5270),
  },
  {
    program: 'sing-box or mihomo',
    fits: ({ priority, table }) => table === 2022 || (priority >= 9000 && priority <= 9010),
  },
  {
    program: 'wg-quick',
    fits: ({ table, mark, suppressed }) =>
      (table !== undefined && table >= 51_820 && table <= 51_899) ||
      (mark >= 0xca6c && mark <= 0xcabb) ||
      (table === RT_TABLE_MAIN && suppressed === 0),
  },
];

const programOf = (rule: MachineRule): string | undefined =>
  KNOWN_RULES.find(({ fits }) => fits(rule))?.program;

const cidrText = (cidr: Cidr | undefined): string => (cidr ? formatCidr(cidr) : 'all');

export function ruleText(rule: MachineRule): string {
  const { priority, isInverted, from, to, mark, mask, inInterface, hasUsers, table } = rule;
  const parts = [
    `${priority}: ${isInverted ? 'not ' : ''}from ${cidrText(from)}`,
    ...(to ? [`to ${formatCidr(to)}`] : []),
    ...(mask === 0 ? [] : [`fwmark 0x${mark.toString(16)}/0x${mask.toString(16)}`]),
    ...(inInterface === undefined ? [] : [`iif ${inInterface}`]),
    ...(hasUsers ? ['uidrange'] : []),
    table === undefined ? 'no table' : `lookup ${table}`,
    ...(rule.suppressed < 0 ? [] : [`suppress_prefixlength ${rule.suppressed}`]),
  ];
  return parts.join(' ');
}

/** Whether a rule applies to the packets of ordinary programs, which have no mark. */
function takesPrograms(rule: MachineRule): boolean {
  if (rule.from || rule.to || rule.hasUsers || rule.outInterface !== undefined) return false;
  if (rule.inInterface !== undefined && rule.inInterface !== 'lo') return false;
  const fitsUnmarked = (rule.mark & rule.mask) === 0;
  return fitsUnmarked !== rule.isInverted;
}

function* ruleFindings(machine: Machine, family: Family): Generator<TunFinding> {
  if (!machine.covers(family)) return;
  const rules = machine.rules(family);
  const before = rules.filter(
    (rule) =>
      rule.table !== undefined &&
      rule.table !== RT_TABLE_MAIN &&
      rule.suppressed < 0 &&
      takesPrograms(rule) &&
      machine.tableCovers(rule.table, family).length > 0,
  );
  const mainFirst = rules.find(
    ({ table, ...rule }) => table === RT_TABLE_MAIN && takesPrograms({ table, ...rule }),
  );
  const id = (name: string): string => (family === 4 ? name : `${name}6`);
  for (const rule of before) {
    const program = programOf(rule) ?? 'another program';
    const isLater = mainFirst !== undefined && mainFirst.priority < rule.priority;
    const routes = machine.tableCovers(rule.table ?? 0, family);
    const evidence = [
      `rule: ${ruleText(rule)} (${program})`,
      ...routes.map((route) => `route of table ${rule.table}: ${routeText(machine, route)}`),
    ];
    yield isLater
      ? {
          id: id('other-vpn'),
          severity: 'breaks',
          evidence: [`rule: ${ruleText(mainFirst)}`, ...evidence],
          consequence:
            "The packets of that tunnel look for their server in the table main, find Weir's routes there, and come back to the device.",
          advice: [
            say(`Stop ${program}, or give its server a route of its own past the device:`),
            sh`${ipCommand(family)} route add ${serverPlaceholder(machine, family)}`,
          ],
        }
      : {
          id: id('rule-before-main'),
          severity: 'leaks',
          evidence,
          consequence:
            'The rule comes before the table main, so packets take its table and not the device.',
          advice: [
            say(`Stop ${program}, or remove its rule while Weir runs:`),
            sh`${ipCommand(family)} rule del priority ${rule.priority}`,
          ],
        };
  }
  const others = rules.filter((rule) => !before.includes(rule) && rule !== mainFirst);
  if (others.length > 0) {
    const named = (rule: MachineRule): string => {
      const program = programOf(rule);
      return `rule: ${ruleText(rule)}${program === undefined ? '' : ` (${program})`}`;
    };
    yield {
      id: id('policy-rules'),
      severity: 'note',
      evidence: [
        ...others.slice(0, MOST_SHOWN).map(named),
        ...(others.length > MOST_SHOWN ? [`and ${others.length - MOST_SHOWN} more rules`] : []),
      ],
      consequence:
        'Packets that these rules choose by source, mark or user take their tables, and not the device.',
      advice: [say('Look whether that is meant; Weir itself looks only at destinations.')],
    };
  }
}

/** Maximum number of rules that one finding shows. */
const MOST_SHOWN = 16;

function serverPlaceholder(machine: Machine, family: Family): string {
  const uplink = machine.defaultRoutes(family)[0];
  const name = machine.linkOf(uplink?.devices[0])?.name ?? 'UPLINK';
  return `SERVER via ${uplink?.gateway === undefined || uplink.gateway === '' ? 'GATEWAY' : uplink.gateway} dev ${name}`;
}

/** Values of rp_filter (ip-sysctl). */
const STRICT = '1';

function* returnPathFindings(machine: Machine): Generator<TunFinding> {
  if (!machine.covers(4)) return;
  const all = machine.setting('net.ipv4.conf.all.rp_filter') ?? '0';
  const strict = machine.uplinks(4).filter(({ name }) => {
    const own = machine.setting(`net.ipv4.conf.${name}.rp_filter`) ?? '0';
    return (own > all ? own : all) === STRICT;
  });
  const loose = [
    sh`echo 'net.ipv4.conf.all.rp_filter = 2' > /etc/sysctl.d/90-weir.conf`,
    sh`sysctl -w net.ipv4.conf.all.rp_filter=2`,
  ];
  if (strict.length > 0) {
    yield {
      id: 'rp-filter-strict',
      severity: 'breaks',
      evidence: [
        `net.ipv4.conf.all.rp_filter = ${all}`,
        ...strict.map(
          ({ name }) =>
            `net.ipv4.conf.${name}.rp_filter = ${machine.setting(`net.ipv4.conf.${name}.rp_filter`) ?? '-'}`,
        ),
      ],
      consequence:
        "The kernel drops the responses to Weir's own connections, which come in by another interface than the routes say.",
      advice: loose,
    };
  } else if (machine.setting('net.ipv4.conf.default.rp_filter') === STRICT && all !== '2') {
    yield {
      id: 'rp-filter-default',
      severity: 'note',
      evidence: [`net.ipv4.conf.all.rp_filter = ${all}`, 'net.ipv4.conf.default.rp_filter = 1'],
      consequence:
        'An interface that comes later, such as Wi-Fi or a dock, drops the responses to Weir.',
      advice: loose,
    };
  }
}

function* uncoveredFindings(machine: Machine): Generator<TunFinding> {
  const { inbound } = machine;
  if (!machine.coversAny) {
    yield {
      id: 'no-default-cover',
      severity: 'note',
      evidence: [`routes = ${JSON.stringify(inbound.routes.map(formatCidr))}`],
      consequence:
        'Only the networks of routes and address go through the device; the rest leaves as before.',
      advice: [toml('routes = ["0.0.0.0/1", "128.0.0.0/1", "::/1", "8000::/1"]')],
    };
    return;
  }
  for (const family of FAMILIES) {
    const routes = machine.defaultRoutes(family);
    if (machine.covers(family) || routes.length === 0) continue;
    const has = inbound.addresses.map(formatCidr);
    const hasAddress = inbound.addresses.some((own) => familyOfCidr(own) === family);
    const added = family === 4 ? '10.255.255.1/30' : 'fd19:7:3::1/126';
    const halves = family === 4 ? ['0.0.0.0/1', '128.0.0.0/1'] : ['::/1', '8000::/1'];
    yield {
      id: family === 4 ? 'ipv4-leak' : 'ipv6-leak',
      severity: 'leaks',
      evidence: [
        `routes: none that cover IPv${family}`,
        ...routes.map((route) => `route: ${routeText(machine, route)}`),
      ],
      consequence: `IPv${family} leaves past the device, by the uplink and in clear.`,
      advice: [
        ...(hasAddress ? [] : [toml(`address = ${JSON.stringify([...has, added])}`)]),
        toml(`routes = ${JSON.stringify([...inbound.routes.map(formatCidr), ...halves])}`),
      ],
    };
  }
}
