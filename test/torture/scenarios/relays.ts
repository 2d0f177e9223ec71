import type { Socket } from 'node:net';
import { portOf, type Address } from '../../support/data/address.ts';
import { httpTunnel } from '../../support/peers/http-client.ts';
import { socksConnect } from '../../support/peers/socks-client.ts';
import { freePort } from '../../support/ports.ts';
import { freedom, httpIn, rule, socksIn } from '../../support/process/config.ts';
import { API } from '../../support/process/control.ts';
import { weirIn, weirOut } from '../../support/ways/weir-config.ts';
import { GRPC_TLS, TLS, type Way } from '../../support/ways/way.ts';
import { checkedEcho, exchange, type CheckedEcho } from '../exchange.ts';
import type { Scenario, Stage } from '../scenario.ts';
import { Victim } from '../victim.ts';

/** What every configuration has: an API, and a log of why flows ended. */
export const BASE = `${API}[log]\nlevel = "debug"\n`;

type Connect = (proxy: Address, echo: CheckedEcho) => Promise<Socket>;

const bySocks: Connect = (proxy, { target }) => socksConnect(proxy, target);
const byHttp: Connect = (proxy, { host, port }) => httpTunnel(proxy, `${host}:${port}`);

/** Bodies there and back through an inbound. */
async function relay(config: string, tag: string, connect: Connect): Promise<Stage> {
  const echo = await checkedEcho();
  const victim = await Victim.start(config);
  return {
    victim,
    use: () => exchange(connect(victim.weir.address(tag), echo), echo),
    async [Symbol.asyncDispose]() {
      await victim[Symbol.asyncDispose]();
      await echo[Symbol.asyncDispose]();
    },
  };
}

/** By a tunnel from this Weir to itself, so that calls of both ends fail. */
async function tunnel(way: Way): Promise<Stage> {
  const port = await freePort();
  const server: Address = { host: '127.0.0.1', port };
  const config = [
    BASE,
    socksIn(),
    weirIn(way, { tag: 'server', port: portOf(server) }),
    weirOut(way, server),
    freedom('direct'),
    rule('direct', 'inbound_tag = ["server"]'),
    rule('out', 'inbound_tag = ["socks"]'),
  ].join('\n');
  return relay(config, 'socks', bySocks);
}

const throughTunnel = (name: string, way: Way): Scenario => ({ name, start: () => tunnel(way) });

export const RELAYS: readonly Scenario[] = [
  { name: 'socks', start: () => relay(`${BASE}${socksIn()}${freedom()}`, 'socks', bySocks) },
  { name: 'http', start: () => relay(`${BASE}${httpIn()}${freedom()}`, 'http', byHttp) },
  throughTunnel('tls', { protocol: 'trojan', carrier: TLS }),
  throughTunnel('hysteria2', { protocol: 'hysteria2' }),
  throughTunnel('ws', { protocol: 'vless', carrier: { network: 'ws' } }),
  throughTunnel('grpc', { protocol: 'trojan', carrier: GRPC_TLS }),
  throughTunnel('vmess', { protocol: 'vmess', cipher: 'aes-128-gcm' }),
  throughTunnel('shadowsocks', { protocol: 'shadowsocks', cipher: '2022-blake3-aes-128-gcm' }),
];
