import { fileURLToPath } from 'node:url';
import type { Via } from './load/flow.ts';
import { open, portOf, type Address } from '../test/support/address.ts';
import { Child } from '../test/support/child.ts';
import { freedom, socksIn } from '../test/support/config.ts';
import { findPeer, startV2ray, V2RAY_SOCKS_IN } from '../test/support/peers.ts';
import { freePort } from '../test/support/ports.ts';
import { eventually } from '../test/support/wait.ts';
import { Weir } from '../test/support/weir.ts';

export type ContestantName = 'direct' | 'pipe' | 'weir' | 'v2ray';

/** Something that stands between the generator's clients and its origin. */
export interface Contestant extends AsyncDisposable {
  readonly via: Via;
  /** Its process; `undefined` when nothing stands between. */
  readonly child: Child | undefined;
  /** Whether it answers SIGUSR2 with its event-loop delay. */
  readonly isNode: boolean;
}

const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** Node's arguments that make a contestant tell its event-loop delay. */
const MEASURED = ['--import', file('./loop-delay.ts')];

/** Starts a contestant in front of the origin at `port`. */
export const START: Readonly<Record<ContestantName, (port: number) => Promise<Contestant>>> = {
  direct: (port) =>
    Promise.resolve({
      via: { host: '127.0.0.1', port },
      child: undefined,
      isNode: false,
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }),

  pipe: async (port) => {
    const own = await freePort();
    const args = [...MEASURED, file('./pipe-relay.ts'), String(port), String(own)];
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
      child,
      isNode: true,
      [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
    };
  },

  weir: async (port) => {
    const weir = await Weir.start(socksIn() + freedom(), { nodeArgs: MEASURED });
    return {
      via: socksTo(weir.address('socks'), port),
      child: weir.child,
      isNode: true,
      [Symbol.asyncDispose]: () => weir[Symbol.asyncDispose](),
    };
  },

  v2ray: async (port) => {
    const peer = await startV2ray([V2RAY_SOCKS_IN]);
    return {
      via: socksTo(peer.address, port),
      child: peer.child,
      isNode: false,
      [Symbol.asyncDispose]: () => peer[Symbol.asyncDispose](),
    };
  },
};

/** Those that this machine can run. */
export function available(): ContestantName[] {
  const all: ContestantName[] = ['direct', 'pipe', 'weir', 'v2ray'];
  return all.filter((name) => name !== 'v2ray' || findPeer('v2ray') !== undefined);
}

function socksTo(proxy: Address, port: number): Via {
  return { host: '127.0.0.1', port: portOf(proxy), target: { host: '127.0.0.1', port } };
}
