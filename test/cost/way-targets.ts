import { setTimeout as pause } from 'node:timers/promises';
import { portOf } from '../support/data/address.ts';
import { recordingRelay } from '../support/peers/recording-relay.ts';
import { echoServer } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { Weir } from '../support/process/weir.ts';
import { roundTrip } from '../support/read.ts';
import {
  carrierOf,
  carrierTitle,
  GRPC_TLS,
  protocolTitle,
  TCP,
  TLS,
  WS_TLS,
  type Carrier,
  type Way,
} from '../support/ways/way.ts';
import { weirIn, weirOut } from '../support/ways/weir-config.ts';
import { seed, piece, type Attack } from './attack.ts';
import type { Place } from './flood.ts';
import { OBSERVED, ObservedProcess } from './observed-process.ts';
import { recordClientHello, recordQuicFlight } from './recorded.ts';
import {
  grpc,
  http,
  NOISE,
  overTls,
  quic,
  RANDOM_DATAGRAMS,
  RANDOM_LOOKING,
  SOCKS,
  TROJAN,
  VLESS,
  ws,
} from './seeds.ts';
import { nameOf, type RunningTarget, type Target } from './target.ts';

/** Users of the inbounds that find theirs by trial, or by a table. */
const MANY = 1000;

const CONNECTIONS =
  'UNAUTHENTICATED_LIMIT 8,192 clients, 4,096 of one source, and a quarter of the descriptors (`packages/proxy/src/transports/limits.ts`)';
const QUIC_CLIENTS = 'MAX_UNAUTHENTICATED (`packages/quic/src/limits.ts`)';
const DATAGRAMS =
  'MOST_BYTES 4 MB of waiting datagrams (`packages/proxy/src/protocols/shadowsocks/legacy/datagram-server.ts`)';

/** How a way is reached and what its inbound is. */
interface WayTarget {
  readonly way: Way;
  readonly title?: string;
  readonly guests?: number;
  /** In place of `weirIn`. */
  readonly inbound?: (port: number) => string;
  readonly datagrams?: boolean;
}

const innerSeeds = ({ way, datagrams }: WayTarget): readonly Attack[] => {
  if (datagrams === true) return RANDOM_DATAGRAMS;
  switch (way.protocol) {
    case 'socks':
      return [...NOISE, ...SOCKS];
    case 'http':
      return [...NOISE, ...http()];
    case 'trojan':
      return [...NOISE, ...TROJAN];
    case 'vless':
      return [...NOISE, ...VLESS];
    case 'vmess':
    case 'shadowsocks':
      return [...NOISE, ...RANDOM_LOOKING];
    case 'hysteria2':
      return [];
  }
  return way.protocol satisfies never;
};

async function seedsOf(target: WayTarget): Promise<readonly Attack[]> {
  if (target.way.protocol === 'hysteria2') return quic(await recordQuicFlight());
  const { network, tls = false } = carrierOf(target.way);
  const inner = innerSeeds(target);
  const carried = network === 'ws' ? ws(inner) : network === 'grpc' ? grpc(inner) : inner;
  return tls ? overTls(carried, await recordClientHello(alpnOf(network))) : carried;
}

const alpnOf = (network: Carrier['network']): 'h2' | 'http/1.1' =>
  network === 'grpc' ? 'h2' : 'http/1.1';

/** The inbound in a configuration; without TLS, what is sent inside of it is the same. */
function configOf({ way, guests = 0, inbound }: WayTarget, withTls = true): string {
  if (inbound) return inbound(0);
  const carrier = { ...carrierOf(way), ...(!withTls && { tls: false }) };
  return weirIn({ ...way, carrier }, { tag: 'in', guests });
}

/** A Weir with the inbound alone, and another one as its honest client. */
async function start(target: WayTarget): Promise<RunningTarget> {
  const { way } = target;
  await using stack = new AsyncDisposableStack();
  const echo = stack.use(await echoServer());
  const config = configOf(target);
  const server = stack.use(await Weir.start(config + freedom(), { nodeArgs: OBSERVED }));
  const relay = stack.use(await recordingRelay(server.address('in')));
  const client = stack.use(
    await Weir.start(`${socksIn()}${weirOut(way, relay.address)}[route]\ndefault = "out"\n`),
  );
  const sent = (): number =>
    [...relay.connections(), ...relay.datagrams()].reduce((sum, { length }) => sum + length, 0);
  const honest = async (payload: number): Promise<number> => {
    const before = sent();
    const socket = await socksConnect(client.address('socks'), echo.target);
    await roundTrip(socket, Buffer.alloc(payload, 'h'));
    socket.destroy();
    return sent() - before;
  };
  const observed = stack.use(await ObservedProcess.of(server.child));
  const seeds = await seedsOf(target);
  const replays = await replaysOf(target, relay.connections, honest);
  const port = portOf(server.address('in'));
  const { network, tls = false } = carrierOf(way);
  const place: Place =
    way.protocol === 'hysteria2' || target.datagrams === true
      ? { kind: 'udp', port }
      : { kind: 'tcp', port, ...(tls && { tls: alpnOf(network) }) };
  const kept = stack.move();
  return {
    observed,
    place,
    seeds: [...seeds, ...replays],
    honest,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** The first flight of an honest client, sent again; only where the protocol recognises that. */
async function replaysOf(
  { way, datagrams }: WayTarget,
  connections: () => readonly Buffer[],
  honest: (payload: number) => Promise<number>,
): Promise<readonly Attack[]> {
  const recognised = way.protocol === 'vmess' || way.protocol === 'shadowsocks';
  if (!recognised || carrierOf(way).network !== 'tcp' || carrierOf(way).tls || datagrams) return [];
  await honest(300);
  // The relay of the recording may still have the last bytes on the way.
  await pause(50);
  const [first] = connections();
  return first ? [seed('a recorded first flight again', [piece(first)])] : [];
}

/** Configurations of the inbounds on streams by the names of their targets, without TLS. */
export const STREAM_INBOUNDS = new Map<string, string>();

function target(one: WayTarget): Target {
  const described = describe(one);
  const isStream = one.way.protocol !== 'hysteria2' && one.datagrams !== true;
  if (isStream) STREAM_INBOUNDS.set(nameOf(described), configOf(one, false));
  return described;
}

const describe = (one: WayTarget): Target => ({
  inbound: one.title ?? protocolTitle(one.way),
  carrier:
    one.way.protocol === 'hysteria2'
      ? `QUIC${one.way.obfuscated === true ? ' under Salamander' : ''}`
      : one.datagrams === true
        ? 'udp'
        : carrierTitle(carrierOf(one.way)),
  bound:
    one.way.protocol === 'hysteria2'
      ? QUIC_CLIENTS
      : one.datagrams === true
        ? DATAGRAMS
        : CONNECTIONS,
  start: () => start(one),
});

const CARRIED: readonly Carrier[] = [TCP, TLS, WS_TLS, GRPC_TLS];
const LEGACY = 'aes-256-gcm';
const MODERN = '2022-blake3-aes-256-gcm';

/** A legacy inbound whose users are told apart by trial alone; the way's own is the last. */
const legacyUsers =
  (count: number) =>
  (port: number): string => {
    const users = Array.from({ length: count - 1 }, (_, i) => `{ password = "guest ${i}" }`);
    return (
      `[[inbound]]\ntag = "in"\nprotocol = "shadowsocks"\nport = ${port}\n[inbound.settings]\n` +
      `method = "${LEGACY}"\npassword = "ignored"\n` +
      `users = [${users.join(', ')}, { password = "correct horse: battery" }]\n`
    );
  };

const legacyMany = { way: { protocol: 'shadowsocks', cipher: LEGACY, users: true } } as const;
const legacyTitle = `shadowsocks ${LEGACY}, ${MANY} users`;

/** Every inbound with every carrier that clients without a password can reach. */
export const WAY_TARGETS: readonly Target[] = [
  target({ way: { protocol: 'socks' }, title: 'socks without a password' }),
  target({ way: { protocol: 'socks', login: true } }),
  target({ way: { protocol: 'http', login: true } }),
  target({ way: { protocol: 'http', login: true, carrier: TLS } }),
  ...CARRIED.map((carrier) => target({ way: { protocol: 'trojan', carrier } })),
  ...CARRIED.map((carrier) => target({ way: { protocol: 'vless', carrier } })),
  ...CARRIED.map((carrier) =>
    target({
      way: { protocol: 'vmess', cipher: 'aes-128-gcm', carrier },
      guests: MANY,
      title: `vmess, ${MANY} users`,
    }),
  ),
  target({ way: { protocol: 'shadowsocks', cipher: LEGACY } }),
  target({ ...legacyMany, inbound: legacyUsers(MANY), title: legacyTitle }),
  target({ ...legacyMany, inbound: legacyUsers(MANY), title: legacyTitle, datagrams: true }),
  target({ way: { protocol: 'shadowsocks', cipher: MODERN } }),
  target({ way: { protocol: 'shadowsocks', cipher: MODERN, users: true } }),
  target({ way: { protocol: 'shadowsocks', cipher: MODERN, users: true }, datagrams: true }),
  target({ way: { protocol: 'hysteria2' } }),
  target({ way: { protocol: 'hysteria2', obfuscated: true } }),
];
