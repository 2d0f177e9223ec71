import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Child } from '../process/child.ts';
import { within } from '../wait.ts';
import { Weir } from '../process/weir.ts';
import type { FarCounts } from './far-end.ts';

const FAR_END = fileURLToPath(new URL('far-end.ts', import.meta.url));

/** The far end: where the servers are, behind the uplink. */
export const FAR = {
  /** Its end of the uplink, the gateway of the default routes. */
  gateway: '10.9.9.2',
  gateway6: 'fd09::2',
  /** Where the services listen. */
  host: '203.0.113.7',
  host6: '2001:db8::7',
  /** Not routed by the gateway, which says so. */
  unreachable: '198.51.100.1',
  unreachable6: '2001:db8:dead::1',
  /** Dropped by the gateway in silence. */
  silent: '198.18.0.1',
} as const;

/** This end of the uplink. */
export const NEAR = { host: '10.9.9.1', host6: 'fd09::1', device: 'uplink' } as const;

/** A kernel that resets discards what is behind the first window of a connection: see `Site.make`. */
export const LAST_WORDS = 20_068;

/** Services of the far end, by their ports. */
export const PORT = {
  /** Sends back what comes, TCP and UDP, and ends when its client does. */
  echo: 7,
  /** Reads to the end of stream and then responds with the digest. */
  digest: 9,
  /** A line with a number of bytes: sends as many of the pattern, and ends. */
  source: 19,
  /** Reads one byte and resets the connection. */
  reset: 11,
  /** Waits for one byte, sends LAST_WORDS bytes, and resets the connection. */
  lastWords: 14,
  /** Reads nothing. */
  stuck: 12,
  /** Sends a line, ends, and counts what comes after that. */
  banner: 13,
  /** DNS over UDP, which knows the names below `far.test`. */
  names: 53,
  /** HTTP: a page, with a script, a picture and a frame. */
  http: 80,
  /** Nothing listens here. */
  closed: 81,
} as const;

/** Whether a program is installed. */
export const hasProgram = (name: string): boolean =>
  spawnSync(name, ['--version'], { stdio: 'ignore' }).error === undefined;

/** Runs `ip` with the words of a command. */
export function ip(command: string): string {
  return execFileSync('ip', command.split(' '), { encoding: 'utf8' });
}

/** Runs a program in a namespace that has a name. */
export const inside = (name: string, program: string, ...args: readonly string[]): string =>
  execFileSync('ip', ['netns', 'exec', name, program, ...args], { encoding: 'utf8' });

/**
 * The surroundings of a Weir in the network of the test file: an uplink to servers in a namespace of their
 * own, behind default routes of both families.
 */
export class Site implements AsyncDisposable {
  readonly #far: Child;
  readonly #namespaces = ['far'];

  private constructor(far: Child) {
    this.#far = far;
  }

  /** @param mtu of the uplink. */
  static async make(mtu = 1500): Promise<Site> {
    ip('netns add far');
    ip(`link add uplink mtu ${mtu} type veth peer name downlink mtu ${mtu} netns far`);
    // Addresses of its own making would come and go meanwhile.
    ip('link set uplink addrgenmode none');
    ip('address add 10.9.9.1/24 dev uplink');
    ip('address add fd09::1/64 dev uplink nodad');
    ip('link set uplink up');
    const lines = [
      'link set lo up',
      'address add 10.9.9.2/24 dev downlink',
      'address add fd09::2/64 dev downlink nodad',
      'link set downlink up',
      `address add ${FAR.host}/32 dev lo`,
      `address add ${FAR.host6}/128 dev lo`,
      // For LAST_WORDS in one flight.
      'route add default via 10.9.9.1 initcwnd 20',
      'route add unreachable 198.51.100.0/24',
      'route add blackhole 198.18.0.0/15',
      'route add unreachable 2001:db8:dead::/48',
    ];
    for (const line of lines) ip(`-n far ${line}`);
    inside('far', 'sysctl', '-qw', 'net.ipv4.ip_forward=1', 'net.ipv6.conf.all.forwarding=1');
    ip('route add default via 10.9.9.2');
    ip('route add default via fd09::2');
    const far = new Child('ip', ['netns', 'exec', 'far', process.execPath, FAR_END], { ipc: true });
    const site = new Site(far);
    try {
      await far.until('its services listen', ({ stdout }) => stdout.includes('ready') || undefined);
      return site;
    } catch (error) {
      await site[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** What the services have seen so far. */
  async counts(): Promise<FarCounts> {
    const { promise, resolve } = Promise.withResolvers<FarCounts>();
    this.#far.process.once('message', (message) => resolve(message as FarCounts));
    this.#far.process.send('counts');
    return within(promise, 'the counts of the far end');
  }

  /** Starts a program at the far end. */
  start(program: string, ...args: readonly string[]): Child {
    return new Child('ip', ['netns', 'exec', 'far', program, ...args]);
  }

  /** Starts a Weir at the far end. */
  startWeir(config: string): Promise<Weir> {
    return Weir.start(config, { wrap: ['ip', 'netns', 'exec', 'far'] });
  }

  /** A second way to the far end, by 10.7.7.2. */
  addUplink(): void {
    ip('link add uplink2 type veth peer name downlink2 netns far');
    ip('address add 10.7.7.1/24 dev uplink2');
    ip('link set uplink2 up');
    ip('-n far address add 10.7.7.2/24 dev downlink2');
    ip('-n far link set downlink2 up');
  }

  /** Another network behind this one, whose default routes lead here: `near` is its gateway. */
  addLan(): void {
    ip('netns add lan');
    this.#namespaces.push('lan');
    ip('link add near type veth peer name client netns lan');
    ip('address add 10.8.8.1/24 dev near');
    ip('address add fd08::1/64 dev near nodad');
    ip('link set near up');
    ip('-n lan link set lo up');
    ip('-n lan address add 10.8.8.2/24 dev client');
    ip('-n lan address add fd08::2/64 dev client nodad');
    ip('-n lan link set client up');
    ip('-n lan route add default via 10.8.8.1');
    ip('-n lan route add default via fd08::1');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#far[Symbol.asyncDispose]();
    for (const name of this.#namespaces) ip(`netns delete ${name}`);
    // The peers of its devices may be gone with the namespaces, or be about to go.
    for (const device of ['uplink', 'uplink2', 'near']) {
      spawnSync('ip', ['link', 'delete', device]);
    }
  }
}

interface LinkView {
  readonly ifname: string;
  readonly mtu: number;
  readonly stats64?: {
    readonly rx: { readonly bytes: number; readonly packets: number };
    readonly tx: { readonly bytes: number; readonly packets: number };
  };
}

const links = (): readonly LinkView[] => JSON.parse(ip('-json -stats link')) as LinkView[];

export const hasDevice = (name: string): boolean => links().some(({ ifname }) => ifname === name);

export const mtuOf = (name: string): number | undefined =>
  links().find(({ ifname }) => ifname === name)?.mtu;

/** What a device has sent so far. */
export function sentBy(device: string): { readonly bytes: number; readonly packets: number } {
  const link = links().find(({ ifname }) => ifname === device);
  if (!link?.stats64) throw new Error(`no device ${device}`);
  return link.stats64.tx;
}

/** Everything that the tables have, without what expires: what must be as before. */
export const networkState = (): string =>
  ['address', 'route show table all', '-6 route show table all', 'rule', '-6 rule']
    .map((what) => ip(what))
    .join('\n')
    .replace(/ (?:expires|valid_lft|preferred_lft) \S+/g, '');

const RESOLV = '/etc/resolv.conf';
let hasOwnResolv = false;

/** Makes the resolver of the C library ask at an address, for programs of this network. */
export function useNameServer(address: string): void {
  const text = `nameserver ${address}\n`;
  if (hasOwnResolv) {
    writeFileSync(RESOLV, text);
    return;
  }
  // Its name is of its own: test files in networks of their own have the same process numbers.
  const folder = mkdtempSync(join(tmpdir(), 'weir-test-resolv-'));
  const file = join(folder, 'resolv.conf');
  writeFileSync(file, text);
  execFileSync('mount', ['--bind', file, RESOLV]);
  hasOwnResolv = true;
  // What is mounted stays.
  rmSync(folder, { recursive: true });
}
