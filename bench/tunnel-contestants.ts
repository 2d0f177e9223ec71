import { portOf, type Address } from '../test/support/address.ts';
import type { Child } from '../test/support/child.ts';
import { freedom, socksIn } from '../test/support/config.ts';
import { startV2ray, startXray, V2RAY_SOCKS_IN } from '../test/support/peers.ts';
import {
  startRustLocal,
  startRustServer,
  startSsLocal,
  startSsServer,
} from '../test/support/shadowsocks-peers.ts';
import { Weir } from '../test/support/weir.ts';
import { MEASURED, socksTo, type Contestant, type ContestantName } from './contestants.ts';
import { rayIn, rayOut, weirIn, weirOut, type Tunnel } from './tunnels.ts';

/** One of the two processes of a tunnel. */
interface End extends AsyncDisposable {
  readonly child: Child;
  /** Where the next process, or the load, finds it. */
  readonly address: Address;
}

/** Younger versions refuse strangers who ask for loopback, unless told otherwise. */
const XRAY_FREEDOM = { protocol: 'freedom', settings: { finalRules: [{ action: 'allow' }] } };

type TunnelContestant = Exclude<ContestantName, 'direct' | 'pipe'>;

/** Starts a server, protocol in and freedom out, and a client, SOCKS in and protocol out. */
const ENDS: Readonly<
  Record<
    TunnelContestant,
    {
      readonly server: (tunnel: Tunnel) => Promise<End>;
      readonly client: (tunnel: Tunnel, server: Address) => Promise<End>;
    }
  >
> = {
  weir: weirEnds({}),
  baseline: weirEnds({ WEIR_CRYPTO: 'baseline' }),
  v2ray: {
    server: (tunnel) => startV2ray([rayIn(tunnel)]),
    client: (tunnel, server) =>
      startV2ray([V2RAY_SOCKS_IN], [rayOut(tunnel, portOf(server), 'v2ray')]),
  },
  xray: {
    server: (tunnel) => startXray([rayIn(tunnel)], [XRAY_FREEDOM]),
    client: (tunnel, server) =>
      startXray([V2RAY_SOCKS_IN], [rayOut(tunnel, portOf(server), 'xray')]),
  },
  'ss-libev': {
    server: ({ cipher = '', password = '' }) => startSsServer(cipher, password),
    client: ({ cipher = '', password = '' }, server) => startSsLocal(server, cipher, password),
  },
  'ss-rust': {
    server: ({ cipher = '', password = '' }) => startRustServer(cipher, password),
    client: ({ cipher = '', password = '' }, server) => startRustLocal(server, cipher, password),
  },
};

/** The pair of processes that stands between the generator and the origin at `port`. */
export async function startTunnel(
  name: ContestantName,
  tunnel: Tunnel,
  port: number,
): Promise<Contestant> {
  if (name === 'direct' || name === 'pipe') throw new Error(`${name} has no tunnel`);
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await ENDS[name].server(tunnel));
  const client = stack.use(await ENDS[name].client(tunnel, server.address));
  const started = stack.move();
  return {
    via: socksTo(client.address, port),
    children: [client.child, server.child],
    isNode: name === 'weir' || name === 'baseline',
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

function weirEnds(env: Readonly<Record<string, string>>): (typeof ENDS)[TunnelContestant] {
  // Neither may inherit a choice that somebody made for this process.
  const options = { nodeArgs: MEASURED, env: { WEIR_CRYPTO: undefined, ...env } };
  const start = async (config: string, tag: string): Promise<End> => {
    const weir = await Weir.start(config, options);
    return {
      child: weir.child,
      address: weir.address(tag),
      [Symbol.asyncDispose]: () => weir[Symbol.asyncDispose](),
    };
  };
  return {
    server: (tunnel) => start(weirIn(tunnel) + freedom(), 'tunnel'),
    client: (tunnel, server) => start(socksIn() + weirOut(tunnel, portOf(server)), 'socks'),
  };
}
