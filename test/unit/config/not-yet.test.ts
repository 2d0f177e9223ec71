import { describe } from 'node:test';
import { DIRECT, inbound, outbound, rule, refuses, type Row } from './support.ts';

const SOCKS = 'protocol = "socks"\n';
const UPSTREAM = 'server = "proxy.example"\nport = 1080\n';
const socksOut = (lines: string): string => outbound(SOCKS + UPSTREAM + lines);

const LATER: readonly Row[] = [
  ...['vmess', 'shadowsocks', 'hysteria2', 'hysteria', 'hy2', 'tun'].map((name): Row => [
    `the inbound ${name}`,
    inbound(`protocol = "${name}"`),
    `protocol ${name} is not in this version yet`,
    '6:12 (inbound in)',
  ]),
  ...['vmess', 'shadowsocks', 'hysteria2', 'hysteria', 'hy2', 'wireguard'].map((name): Row => [
    `the outbound ${name}`,
    outbound(`protocol = "${name}"`),
    `protocol ${name} is not in this version yet`,
    '3:12 (outbound out)',
  ]),
  ...['tls', 'ws', 'grpc'].map((name): Row => [
    `the network ${name}`,
    socksOut(`stream.network = "${name}"`),
    `stream network ${name} is not in this version yet`,
    '6:18 (outbound out)',
  ]),
  ['dns', `${DIRECT}[dns]\nbackend = "udp"`, '[dns] is not in this version yet', '4:1 (dns)'],
  [
    'balancers',
    `${DIRECT}[[balancer]]\ntag = "b"`,
    '[[balancer]] is not in this version yet',
    '4:1 (balancer)',
  ],
  [
    'subscribe',
    `${DIRECT}[subscribe]\npath = "s"`,
    '[subscribe] is not in this version yet',
    '4:1 (subscribe)',
  ],
  ['the API', `${DIRECT}[api]\n`, '[api] is not in this version yet', '4:1 (api)'],
  [
    'a geoip file',
    `${DIRECT}[route]\ngeoip = "x"`,
    '[route].geoip is not in this version yet',
    '5:9 (route)',
  ],
  [
    'a geosite file',
    `${DIRECT}[route]\ngeosite = "x"`,
    '[route].geosite is not in this version yet',
    '5:11 (route)',
  ],
  [
    'the matcher geoip',
    rule('geoip = ["de"]'),
    'the matcher geoip is not in this version yet',
    '6:10 (route.rule[0])',
  ],
  [
    'the matcher geosite',
    rule('geosite = ["de"]'),
    'the matcher geosite is not in this version yet',
    '6:12 (route.rule[0])',
  ],
  [
    'a balancer before the rule that names it',
    `${DIRECT}[route]\ndefault = "b"\n[[balancer]]\ntag = "b"`,
    '[[balancer]] is not in this version yet',
    '6:1 (balancer)',
  ],
];

describe('refused until it is there:', () => refuses(LATER));
