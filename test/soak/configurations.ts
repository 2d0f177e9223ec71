import { numbers } from '../support/process/random-config.ts';
import { API } from '../support/process/control.ts';
import { freedom, httpIn, rule, socksIn } from '../support/process/config.ts';
import type { Address } from '../support/data/address.ts';
import { weirIn, weirOut } from '../support/ways/weir-config.ts';
import { renewCertificate } from '../support/ways/certificate.ts';
import { hasSecret, type Tunnel } from './tunnels.ts';

/** A configuration that changes in small steps and can go back to where it began. */
export interface Changing {
  /** Changes one thing, a file that the configuration names included. */
  change(): void;
  /** Undoes all changes. */
  reset(): void;
  /** The default route of the configuration. */
  pick: Pick;
  toString(): string;
}

export type Pick = 'direct' | 'spare';

/** Where a SOCKS inbound moves to and fro. */
export const ROAMING = 'roaming';

interface State {
  guests: number;
  rules: number;
  sniffing: boolean;
  port: number;
  family: number;
  outbounds: number;
  strategy: number;
  pick: Pick;
}

const FIRST: State = {
  guests: 1,
  rules: 1,
  sniffing: true,
  port: 0,
  family: 0,
  outbounds: 0,
  strategy: 0,
  pick: 'direct',
};
const FAMILIES = ['auto', 'ipv4_only', 'prefer_ipv4'] as const;
const STRATEGIES = ['failover', 'round_robin'] as const;

/** @param write the whole text for a state. */
function changing(seed: number, ports: number, write: (state: State) => string): Changing {
  const choose = numbers(seed);
  let state = { ...FIRST };
  const other = (than: number, below: number): number => (than + 1 + choose(below - 1)) % below;
  const changes: readonly (() => void)[] = [
    () => (state.guests = other(state.guests, 5)),
    () => (state.rules = other(state.rules, 6)),
    () => (state.sniffing = !state.sniffing),
    () => (state.port = other(state.port, ports)),
    () => (state.family = other(state.family, FAMILIES.length)),
    () => (state.outbounds = other(state.outbounds, 4)),
    () => (state.strategy = other(state.strategy, STRATEGIES.length)),
    () => (state.pick = state.pick === 'direct' ? 'spare' : 'direct'),
    renewCertificate,
  ];
  return {
    change: () => changes[choose(changes.length)]?.(),
    reset: () => (state = { ...FIRST }),
    get pick() {
      return state.pick;
    },
    set pick(pick) {
      state.pick = pick;
    },
    toString: () => write(state),
  };
}

const shared = (state: State, ports: readonly number[]): string =>
  [
    socksIn(ROAMING, `sniffing = ${state.sniffing}`).replace(
      'port = 0',
      `port = ${ports[state.port]}`,
    ),
    freedom('direct'),
    freedom('spare', `address_family = "${FAMILIES[state.family]}"`),
    ...Array.from({ length: state.outbounds }, (_, i) => freedom(`more${i}`)),
    `[route]\ndefault = "${state.pick}"\n`,
    ...Array.from({ length: state.rules }, (_, i) =>
      rule('spare', `domain_suffix = ["d${i}.soak.test"]`),
    ),
  ].join('');

/** What the configurations of both ends refer to. */
interface Around {
  readonly seed: number;
  /** Where the roaming inbound can be. */
  readonly ports: readonly number[];
  readonly dnsPort: number;
}

const dns = ({ dnsPort }: Around): string =>
  `[dns]\nbackend = "udp"\nserver = "127.0.0.1:${dnsPort}"\n`;

/** The end that takes every tunnel in. */
export function serverConfiguration(tunnels: readonly Tunnel[], around: Around): Changing {
  return changing(around.seed, around.ports.length, (state) =>
    [
      API,
      dns(around),
      ...tunnels.map(({ tag, way }) =>
        weirIn(way, { tag, guests: state.guests, more: `sniffing = ${state.sniffing}` })
          // Of Hysteria 2: a round does not wait for its associations to become idle.
          .replace('udp = true', '$&\nudp_idle_timeout = 2'),
      ),
      shared(state, around.ports),
    ].join(''),
  );
}

/** The inbounds of flows that leave by a tunnel, with the right and with a wrong secret. */
export const entrance = (tag: string): string => `in-${tag}`;
export const wrongEntrance = (tag: string): string => `wrong-${tag}`;
export const HTTP = 'http-in';
export const GROUP = 'group';

/** The end at which the inbound of a client selects the tunnel. */
export function clientConfiguration(
  tunnels: readonly Tunnel[],
  server: (tag: string) => Address,
  around: Around,
): Changing {
  const members = JSON.stringify(tunnels.slice(0, 3).map(({ tag }) => tag));
  return changing(around.seed, around.ports.length, (state) => {
    const family = `address_family = "${FAMILIES[state.family]}"\n`;
    const ways = tunnels.map(({ tag, way }) =>
      weirOut(way, server(tag), { tag }).replace('[outbound.settings]', `${family}$&`),
    );
    const wrong = tunnels
      .filter(hasSecret)
      .map(({ tag, way }) =>
        weirOut({ ...way, credentials: 'wrong' }, server(tag), { tag: wrongEntrance(tag) }),
      );
    const secret = tunnels.filter(hasSecret).map(({ tag }) => tag);
    return [
      API,
      dns(around),
      ...tunnels.map(({ tag }) => socksIn(entrance(tag), `sniffing = ${state.sniffing}`)),
      ...secret.map((tag) => socksIn(wrongEntrance(tag))),
      httpIn(HTTP),
      socksIn(GROUP),
      shared(state, around.ports),
      ...secret.map((tag) => rule(wrongEntrance(tag), `inbound_tag = ["${wrongEntrance(tag)}"]`)),
      ...tunnels.map(({ tag }) => rule(tag, `inbound_tag = ["${entrance(tag)}"]`)),
      rule(GROUP, `inbound_tag = ["${GROUP}"]`),
      ...ways,
      ...wrong,
      `[[balancer]]\ntag = "${GROUP}"\noutbounds = ${members}\nprobe_interval = 5\n`,
      `strategy = "${STRATEGIES[state.strategy]}"\n`,
    ].join('\n');
  });
}
