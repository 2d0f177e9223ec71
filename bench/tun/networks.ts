import { spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { existsSync } from 'node:fs';
import { Child } from '../../test/support/process/child.ts';

/** Where the origin listens, on the far side of the uplink; only the default route leads there. */
export const FAR_HOST = '203.0.113.7';
/** The far end of the uplink, the gateway of the near side. */
export const FAR_END = '10.9.9.2';
/** The near end of the uplink, through which programs have to send what they relay. */
export const UPLINK = 'uplink';

/** A network namespace without a name: it lasts as long as a process in it. */
const UNSHARE: readonly string[] = ['setpriv', '--pdeathsig', 'KILL', 'unshare', '--net'];

/** Why this machine cannot measure a device; `false` when it can. */
export function withoutNetworks(): string | false {
  if (process.platform !== 'linux') return 'network namespaces are of Linux';
  if (!existsSync('/dev/net/tun')) return 'no /dev/net/tun';
  const { status, error, stderr } = attempt(UNSHARE, 'true');
  if (error) return `no network namespaces: ${error.message}`;
  return status === 0 ? false : `no network namespaces: ${stderr.trim()}`;
}

/** Programs and a device on the near side, servers on the far side, and an uplink between them. */
export class Networks implements AsyncDisposable {
  readonly #near: Child;
  readonly #far: Child;

  private constructor(near: Child, far: Child) {
    this.#near = near;
    this.#far = far;
  }

  static async make(): Promise<Networks> {
    await using made = new AsyncDisposableStack();
    // They print when they are in their namespace, and end with their standard input.
    const [near, far] = [0, 1].map(() => made.use(holder())) as [Child, Child];
    const networks = new Networks(near, far);
    for (const child of [near, far]) {
      await child.until('its network', ({ stdout }) => stdout.includes('ready') || undefined);
    }
    networks.#connect();
    made.move();
    return networks;
  }

  /** The words before a command that is to run on the near side. */
  get near(): readonly string[] {
    return inside(this.#near);
  }

  get far(): readonly string[] {
    return inside(this.#far);
  }

  /** A process on the far side: its id names the network. */
  get farPid(): number {
    return this.#far.pid;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#near[Symbol.asyncDispose](), this.#far[Symbol.asyncDispose]()]);
  }

  #connect(): void {
    run(this.near, `ip link add ${UPLINK} type veth peer name downlink netns ${this.#far.pid}`);
    for (const line of [
      'ip link set lo up',
      `ip address add ${FAR_END}/24 dev downlink`,
      'ip link set downlink up',
      `ip address add ${FAR_HOST}/32 dev lo`,
    ]) {
      run(this.far, line);
    }
    for (const line of [
      'ip link set lo up',
      `ip address add 10.9.9.1/24 dev ${UPLINK}`,
      `ip link set ${UPLINK} up`,
      `ip route add default via ${FAR_END}`,
      // Thousands of connections a second, each of which keeps a port for a minute.
      'sysctl -qw net.ipv4.ip_local_port_range=1024\t65535',
    ]) {
      run(this.near, line);
    }
  }
}

const holder = (): Child => new Child('sh', ['-c', 'echo ready; exec cat'], { prefix: UNSHARE });

const inside = ({ pid }: Child): readonly string[] => ['nsenter', `--net=/proc/${pid}/ns/net`];

/** Runs a command to its end. */
export function run(prefix: readonly string[], command: string): void {
  const { status, error, stderr } = attempt(prefix, command);
  if (status !== 0) throw new Error(`${command}: ${error?.message ?? stderr.trim()}`);
}

/** Runs a command, which may fail. */
export function attempt(prefix: readonly string[], command: string): SpawnSyncReturns<string> {
  const [program = '', ...args] = [...prefix, ...command.split(' ')];
  return spawnSync(program, args, { encoding: 'utf8' });
}
