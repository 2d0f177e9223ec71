import { join } from 'node:path';
import type { Target } from '../peers/socks-client.ts';

/** What a configuration under random reloads may refer to. */
export interface ServersAround {
  /** Free ports, more than there are inbounds. */
  readonly ports: readonly number[];
  /** SOCKS servers that an outbound can go through. */
  readonly upstreams: readonly Target[];
  /** DNS servers; each resolves the names below `load.test`. */
  readonly resolvers: readonly Target[];
  /** Where unix sockets are made. */
  readonly folder: string;
  /** `[api]`. */
  readonly api: string;
}

/** The accounts that the load logs in with; others come and go. */
export const STEADY = { user: 'steady', pass: 'pässword' } as const;

const TCP_INBOUNDS = ['socks', 'login', 'http', 'extra'] as const;
const UNIX_INBOUNDS = ['usocks', 'uhttp'] as const;
export type InboundTag = (typeof TCP_INBOUNDS)[number] | (typeof UNIX_INBOUNDS)[number];

type Choose = (below: number) => number;

/** The same numbers for the same seed. */
export function numbers(seed: number): Choose {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/**
 * A configuration that changes step by step into other valid ones: users, rules, outbounds,
 * balancers, listen addresses, `[dns]`. The load of a test can go on through all of them.
 */
export class RandomConfig {
  readonly #around: ServersAround;
  readonly #choose: Choose;
  readonly #ports: number[];
  readonly #host = new Map<string, string>();
  #paths = ['a.sock', 'b.sock'];
  #extra = true;
  #accounts = 1;
  #sniffing = true;
  #family = 0;
  #outbounds = 1;
  #members = ['up0', 'up1'];
  #strategy = 'failover';
  #resolver = 0;
  #default = 'direct';
  #udp = 'direct';
  readonly #exits = new Map<string, string>();

  constructor(around: ServersAround, choose: Choose) {
    this.#around = around;
    this.#choose = choose;
    this.#ports = [...around.ports];
  }

  /** Changes one thing; returns its description, for a test that fails. */
  change(): string {
    const changes: readonly (() => string)[] = [
      () => `accounts ${(this.#accounts = this.#other(this.#accounts, 4))}`,
      () => `sniffing ${(this.#sniffing = !this.#sniffing)}`,
      () => `address family ${(this.#family = this.#other(this.#family, FAMILIES.length))}`,
      () => `outbounds ${(this.#outbounds = this.#other(this.#outbounds, 4))}`,
      () => this.#changeBalancer(),
      () =>
        `resolver ${(this.#resolver = this.#other(this.#resolver, this.#around.resolvers.length))}`,
      () => `default ${(this.#default = this.#otherExit(this.#default))}`,
      () => `udp to ${(this.#udp = this.#udp === 'direct' ? 'spare' : 'direct')}`,
      () => this.#changeRule(),
      () => this.#swapPorts(),
      () => this.#movePort(),
      () => this.#widen(),
      () => `unix sockets ${(this.#paths = this.#paths.toReversed()).join()}`,
      () => `extra inbound ${(this.#extra = !this.#extra)}`,
    ];
    const { length } = changes;
    return changes[this.#choose(length)]?.() ?? '';
  }

  toString(): string {
    const { upstreams, resolvers, api } = this.#around;
    const resolver = resolvers[this.#resolver];
    const family = FAMILIES[this.#family];
    const outbounds = Array.from({ length: this.#outbounds }, (_, i) => freedom(`more${i}`));
    const ups = upstreams.map(
      ({ host, port }, i) =>
        `[[outbound]]\ntag = "up${i}"\nprotocol = "socks"\nserver = "${host}"\nport = ${port}\n`,
    );
    return [
      api,
      `[dns]\nbackend = "udp"\nserver = "${resolver?.host}:${resolver?.port}"\n`,
      ...this.#inbounds(),
      freedom('direct'),
      freedom('spare', `address_family = "${family}"\n`),
      ...ups,
      ...outbounds,
      `[[balancer]]\ntag = "group"\noutbounds = ${JSON.stringify(this.#members)}\n`,
      `strategy = "${this.#strategy}"\nprobe_interval = 1\n`,
      `[route]\ndefault = "${this.#default}"\n`,
      rule(this.#udp, 'network = "udp"'),
      rule('spare', 'domain_suffix = ["load.test"]'),
      ...Array.from(this.#exits, ([tag, exit]) => rule(exit, `inbound_tag = ["${tag}"]`)),
    ].join('');
  }

  #inbounds(): string[] {
    const tcp = TCP_INBOUNDS.filter((tag) => tag !== 'extra' || this.#extra).map((tag) => {
      const port = this.#ports[TCP_INBOUNDS.indexOf(tag)];
      const where = `listen = "${this.#host.get(tag) ?? '127.0.0.1'}"\nport = ${port}\n`;
      return this.#inbound(tag, tag === 'http' ? 'http' : 'socks', where);
    });
    const unix = UNIX_INBOUNDS.map((tag, i) => {
      const path = join(this.#around.folder, this.#paths[i] ?? '');
      return this.#inbound(tag, tag === 'uhttp' ? 'http' : 'socks', `listen = "${path}"\n`);
    });
    return [...tcp, ...unix];
  }

  #inbound(tag: string, protocol: string, where: string): string {
    const head = `[[inbound]]\ntag = "${tag}"\nprotocol = "${protocol}"\n${where}`;
    const sniffing = `sniffing = ${this.#sniffing}\n`;
    const accounts = [STEADY, ...Array.from({ length: this.#accounts }, (_, i) => guest(i))]
      .map(({ user, pass }) => `{ user = "${user}", pass = "${pass}" }`)
      .join(', ');
    const settings =
      tag === 'login'
        ? `[inbound.settings]\nauth = "password"\naccounts = [${accounts}]\n`
        : tag === 'usocks'
          ? '[inbound.settings]\nudp_bind = "127.0.0.1"\n'
          : '';
    return head + sniffing + settings;
  }

  #changeBalancer(): string {
    if (this.#choose(2) === 0) this.#members = this.#members.toReversed();
    else this.#strategy = this.#strategy === 'failover' ? 'round_robin' : 'failover';
    return `balancer ${this.#strategy} of ${this.#members.join()}`;
  }

  #changeRule(): string {
    const tags = [...TCP_INBOUNDS, ...UNIX_INBOUNDS];
    const tag = tags[this.#choose(tags.length)] ?? '';
    const exit = this.#otherExit(this.#exits.get(tag) ?? '');
    this.#exits.delete(tag);
    this.#exits.set(tag, exit);
    return `${tag} to ${exit}`;
  }

  #swapPorts(): string {
    const [a, b] = this.#two(TCP_INBOUNDS.length);
    return this.#swap(a, b);
  }

  #movePort(): string {
    const inbounds = TCP_INBOUNDS.length;
    const spare = inbounds + this.#choose(this.#ports.length - inbounds);
    return this.#swap(this.#choose(inbounds), spare);
  }

  #swap(a: number, b: number): string {
    const ports = this.#ports;
    [ports[a], ports[b]] = [ports[b] ?? 0, ports[a] ?? 0];
    return `port ${ports[b]} to ${ports[a]}`;
  }

  /** To all addresses or back, on the same port. */
  #widen(): string {
    const tag = TCP_INBOUNDS[this.#choose(TCP_INBOUNDS.length)] ?? '';
    const host = this.#host.get(tag) === '0.0.0.0' ? '127.0.0.1' : '0.0.0.0';
    this.#host.set(tag, host);
    return `${tag} on ${host}`;
  }

  #two(below: number): [number, number] {
    const a = this.#choose(below);
    return [a, this.#other(a, below)];
  }

  #other(than: number, below: number): number {
    return (than + 1 + this.#choose(below - 1)) % below;
  }

  #otherExit(than: string): string {
    const others = ['direct', 'spare', 'up0', 'up1', 'group'].filter((exit) => exit !== than);
    return others[this.#choose(others.length)] ?? 'direct';
  }
}

const FAMILIES = ['auto', 'ipv4_only', 'prefer_ipv4'] as const;

const guest = (i: number) => ({ user: `guest${i}`, pass: 'guest' });

const freedom = (tag: string, more = ''): string =>
  `[[outbound]]\ntag = "${tag}"\nprotocol = "freedom"\n${more}`;

const rule = (outbound: string, matcher: string): string =>
  `[[route.rule]]\noutbound = "${outbound}"\n${matcher}\n`;
