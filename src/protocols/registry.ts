import { blackhole } from './blackhole/index.ts';
import { freedom } from './freedom/index.ts';
import { http } from './http/index.ts';
import { hysteria2 } from './hysteria2/index.ts';
import type { InboundProtocol, OutboundProtocol, Protocol } from './protocol.ts';
import { shadowsocks } from './shadowsocks/index.ts';
import { socks } from './socks/index.ts';
import { trojan } from './trojan/index.ts';
import { tun } from './tun/index.ts';
import { vless } from './vless/index.ts';
import { vmess } from './vmess/index.ts';
import { wireguard } from './wireguard/index.ts';

/** All protocols. A new one needs a folder and a line here. */
const PROTOCOLS: readonly Protocol[] = [
  blackhole,
  freedom,
  http,
  hysteria2,
  shadowsocks,
  socks,
  trojan,
  tun,
  vless,
  vmess,
  wireguard,
];

const BY_NAME: ReadonlyMap<string, Protocol> = new Map(
  PROTOCOLS.flatMap((protocol) =>
    [protocol.name, ...protocol.aliases].map((name) => [name, protocol]),
  ),
);

/** The protocol with this name or alias; case-sensitive. */
export const findProtocol = (name: string): Protocol | undefined => BY_NAME.get(name);

/** The names and aliases of the protocols that have a side. */
export const protocolNames = (side: 'inbound' | 'outbound'): readonly string[] =>
  PROTOCOLS.filter((protocol) => protocol[side]).flatMap(({ name, aliases }) => [name, ...aliases]);

/** The server side of the protocol of a Spec. */
export function inboundProtocol(name: string): InboundProtocol<unknown> {
  const side = findProtocol(name)?.inbound;
  if (!side) throw new RangeError(`there is no inbound protocol ${name}`);
  return side;
}

/** The client side of the protocol of a Spec. */
export function outboundProtocol(name: string): OutboundProtocol<unknown> {
  const side = findProtocol(name)?.outbound;
  if (!side) throw new RangeError(`there is no outbound protocol ${name}`);
  return side;
}
