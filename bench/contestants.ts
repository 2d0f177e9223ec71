import { fileURLToPath } from 'node:url';
import type { Via } from './load/flow.ts';
import type { StartedPath } from './path/start-path.ts';
import { open, portOf, type Address } from '../test/support/data/address.ts';
import { Child } from '../test/support/process/child.ts';
import { BoundSocket } from '../test/support/links/bound-socket.ts';
import { freedom, socksIn } from '../test/support/process/config.ts';
import { passing } from '../test/support/process/passing.ts';
import {
  startV2ray,
  startXray,
  without,
  type Peer,
  type PeerName,
} from '../test/support/programs/peers.ts';
import { freePort } from '../test/support/ports.ts';
import { eventually } from '../test/support/wait.ts';
import { RAY_SOCKS_IN } from '../test/support/ways/ray.ts';
import { startSingBox } from '../test/support/ways/sing-box.ts';
import { XRAY_FREEDOM } from '../test/support/ways/xray.ts';
import { Weir } from '../test/support/process/weir.ts';

export type ContestantName =
  | 'direct'
  | 'pipe'
  | 'weir'
  | 'weir-2'
  | 'weir-4'
  | 'baseline'
  | 'v2ray'
  | 'xray'
  | 'sing-box'
  | 'sing-box-system'
  | 'hysteria'
  | 'ss-libev'
  | 'ss-rust';

/** Those of the cases without a tunnel. */
type RelayName = 'direct' | 'pipe' | 'weir' | 'weir-2' | 'weir-4' | 'v2ray' | 'xray' | 'sing-box';

/** Something that stands between the generator's clients and its origin. */
export interface Contestant extends AsyncDisposable {
  readonly via: Via;
  /** Its processes, whose memory and processor time count; empty for the direct connection. */
  readonly children: readonly Child[];
  /** What lies between its two ends, if anything. */
  readonly path?: StartedPath | undefined;
}

const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** Whether a contestant runs in Node, and can report its event-loop delay. */
export const isNode = (name: ContestantName): boolean =>
  name.startsWith('weir') || name === 'pipe' || name === 'baseline';

/** Node's arguments that make a contestant report its event-loop delay on SIGUSR2. */
export const probeArgs = (probed: boolean): readonly string[] =>
  probed ? ['--import', file('./loop-delay.ts')] : [];

type Start = (port: number, probed: boolean) => Promise<Contestant>;

const START: Readonly<Record<RelayName, Start>> = {
  direct: (port) =>
    Promise.resolve({
      via: { host: '127.0.0.1', port },
      children: [],
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }),

  pipe: async (port, probed) => {
    const own = await freePort();
    const args = [...probeArgs(probed), file('./pipe-relay.ts'), String(port), String(own)];
    const child = new Child(process.execPath, args);
    await eventually('the bare relay to listen', async () => {
      try {
        (await open({ host: '127.0.0.1', port: own })).destroy();
        return true;
      } catch {
        return false;
      }
    });
    return {
      via: { host: '127.0.0.1', port: own },
      children: [child],
      [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
    };
  },

  weir: async (port, probed) => {
    const weir = await Weir.start(socksIn() + freedom(), { nodeArgs: probeArgs(probed) });
    return {
      via: socksTo(weir.address('socks'), port),
      children: [weir.child],
      [Symbol.asyncDispose]: () => weir[Symbol.asyncDispose](),
    };
  },

  'weir-2': (port, probed) => startProcesses(2, port, probed),
  'weir-4': (port, probed) => startProcesses(4, port, probed),

  v2ray: async (port) => behind(await startV2ray([RAY_SOCKS_IN]), port),
  xray: async (port) => behind(await startXray([RAY_SOCKS_IN], [XRAY_FREEDOM]), port),
  'sing-box': async (port) => behind(await startSingBox({ inbound: { type: 'socks' } }), port),
};

/** Processes of Weir that share one listening socket, in front of the origin at `port`. */
async function startProcesses(count: number, port: number, probed: boolean): Promise<Contestant> {
  const listener = new BoundSocket('stream', { host: '127.0.0.1', port: 0 });
  const config = socksIn().replace('port = 0', `port = ${listener.port}`) + freedom();
  const options = passing([listener], { nodeArgs: probeArgs(probed) });
  const all = await Promise.all(Array.from({ length: count }, () => Weir.start(config, options)));
  return {
    via: socksTo(listener.address, port),
    children: all.map(({ child }) => child),
    [Symbol.asyncDispose]: async () => {
      await Promise.all(all.map((weir) => weir[Symbol.asyncDispose]()));
      listener[Symbol.dispose]();
    },
  };
}

/** Another program with a SOCKS inbound, in front of the origin at `port`. */
const behind = (peer: Peer, port: number): Contestant => ({
  via: socksTo(peer.address, port),
  children: [peer.child],
  [Symbol.asyncDispose]: () => peer[Symbol.asyncDispose](),
});

/**
 * Starts a contestant that relays in front of the origin at `port`.
 *
 * @param probed whether one in Node reports its event-loop delay, which takes processor time.
 */
export function startRelay(
  name: ContestantName,
  port: number,
  probed: boolean,
): Promise<Contestant> {
  if (!isRelay(name)) throw new Error(`${name} is for tunnels only`);
  return START[name](port, probed);
}

const isRelay = (name: ContestantName): name is RelayName => Object.hasOwn(START, name);

/** The programs that have to be installed for each. */
const NEEDS: Readonly<Record<ContestantName, readonly PeerName[]>> = {
  direct: [],
  pipe: [],
  weir: [],
  'weir-2': [],
  'weir-4': [],
  baseline: [],
  v2ray: ['v2ray'],
  xray: ['xray'],
  'sing-box': ['sing-box'],
  'sing-box-system': ['sing-box'],
  hysteria: ['hysteria'],
  'ss-libev': ['ss-server', 'ss-local'],
  'ss-rust': ['ssserver', 'sslocal'],
};

/** All contestants, in the order of the tables. */
export const CONTESTANTS = Object.keys(NEEDS) as readonly ContestantName[];

/** Programs by other authors; the best of them is what Weir is compared with. */
export const isPeer = (name: ContestantName): boolean => NEEDS[name].length > 0;

/** Why this machine cannot run it; `false` when it can. */
export const unable = (name: ContestantName): string | false =>
  without(...NEEDS[name]) && `${name} is left out: ${without(...NEEDS[name])}`;

/** The way through a SOCKS listener to the origin at `port`. */
export function socksTo(proxy: Address, port: number): Via {
  return { host: '127.0.0.1', port: portOf(proxy), target: { host: '127.0.0.1', port } };
}
