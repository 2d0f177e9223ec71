import { describe } from 'node:test';
import { inbound, outbound, refuses, type Row } from './support.ts';

const SOCKS = 'protocol = "socks"\n';
const UPSTREAM = 'server = "proxy.example"\nport = 1080\n';
const socksOut = (lines: string): string => outbound(SOCKS + UPSTREAM + lines);

const LATER: readonly Row[] = [
  ...['trojan', 'vless', 'vmess', 'hysteria2', 'hysteria', 'hy2', 'tun'].map((name): Row => [
    `the inbound ${name}`,
    inbound(`protocol = "${name}"`),
    `protocol ${name} is not in this version yet`,
    '6:12 (inbound in)',
  ]),
  ...['trojan', 'vless', 'vmess', 'hysteria2', 'hysteria', 'hy2', 'wireguard'].map((name): Row => [
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
];

describe('refused until it is there:', () => refuses(LATER));
