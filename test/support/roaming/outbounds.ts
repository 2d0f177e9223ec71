import { FAR, PORT } from '../netns/site.ts';
import { freedom } from '../process/config.ts';
import { carriesDatagrams, GRPC_TLS, TLS, WS_TLS, type Way } from '../ways/way.ts';
import { weirOut } from '../ways/weir-config.ts';

/** An outbound of a Weir that roams: it has a SOCKS inbound of its own. */
export interface RoamingOutbound {
  readonly tag: string;
  /** The way to the exit, and the exit's port; absent for an outbound that needs none. */
  readonly exit?: { readonly way: Way; readonly port: number };
  /** The host that flows are for. */
  readonly host: string;
  /** Whether it carries datagrams. */
  readonly datagrams: boolean;
  /** Lines of the configuration. */
  readonly config: string;
}

/** Every protocol, and each carrier whose connections are kept or answered by a response of its own. */
const WAYS: readonly (readonly [tag: string, way: Way])[] = [
  ['socks', { protocol: 'socks', login: true }],
  ['http', { protocol: 'http' }],
  ['trojan-tls', { protocol: 'trojan', carrier: TLS }],
  ['trojan-ws-tls', { protocol: 'trojan', carrier: WS_TLS }],
  ['trojan-grpc', { protocol: 'trojan', carrier: { network: 'grpc' } }],
  ['vless', { protocol: 'vless' }],
  ['vless-ws', { protocol: 'vless', carrier: { network: 'ws' } }],
  ['vless-grpc-tls', { protocol: 'vless', carrier: GRPC_TLS }],
  ['vmess', { protocol: 'vmess', cipher: 'aes-128-gcm' }],
  ['vmess-ws-tls', { protocol: 'vmess', cipher: 'aes-128-gcm', carrier: WS_TLS }],
  ['vmess-grpc-tls', { protocol: 'vmess', cipher: 'aes-128-gcm', carrier: GRPC_TLS }],
  ['ss', { protocol: 'shadowsocks', cipher: 'aes-128-gcm' }],
  ['ss-2022', { protocol: 'shadowsocks', cipher: '2022-blake3-aes-128-gcm' }],
  ['hysteria2', { protocol: 'hysteria2' }],
  ['hysteria2-obfs', { protocol: 'hysteria2', obfuscated: true }],
];

const FIRST_PORT = 4001;

const byWay = ([tag, way]: (typeof WAYS)[number], index: number): RoamingOutbound => {
  const port = FIRST_PORT + index;
  const server = `server = "${FAR.host}"`;
  const config = weirOut(way, { host: FAR.host, port }, { tag });
  return {
    tag,
    exit: { way, port },
    host: FAR.host,
    datagrams: carriesDatagrams(way),
    config: config.replace('server = "127.0.0.1"', server),
  };
};

const direct = (tag: string, host: string): RoamingOutbound => ({
  tag,
  host,
  datagrams: true,
  config: freedom(tag),
});

/** A group whose first member has no server: it is available only after a probe of the second. */
const group: RoamingOutbound = {
  tag: 'group',
  host: FAR.host,
  datagrams: false,
  config: [
    `[[outbound]]\ntag = "no-server"\nprotocol = "socks"\nserver = "${FAR.host}"\nport = ${PORT.closed}\n`,
    '[[balancer]]\ntag = "group"\noutbounds = ["no-server", "vless"]\nprobe_interval = 5\n',
  ].join('\n'),
};

/** All but WireGuard, whose peer is another program. */
export const ROAMING_OUTBOUNDS: readonly RoamingOutbound[] = [
  direct('direct', FAR.host),
  direct('direct-ipv6', FAR.host6),
  direct('name', 'roaming.far.test'),
  ...WAYS.map(byWay),
  group,
];
