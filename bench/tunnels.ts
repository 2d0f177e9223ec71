import type { Path } from './path/messages.ts';
import { GRPC_TLS, TLS, WS_TLS, type Way } from '../test/support/ways/way.ts';

/** A way between a client and a server, as the cases call it. */
export interface Tunnel {
  /** In the names of cases: `tunnel-NAME-down`. */
  readonly name: string;
  readonly title: string;
  readonly way: Way;
  /** What lies between client and server; absent: this machine's loopback alone. */
  readonly path?: Path;
}

const vmess = (name: string, cipher: string): Tunnel => ({
  name: `vmess-${name}`,
  title: `VMess ${cipher}`,
  way: { protocol: 'vmess', cipher },
});

const shadowsocks = (name: string, cipher: string): Tunnel => ({
  name: `ss${name}`,
  title: `Shadowsocks ${cipher}`,
  way: { protocol: 'shadowsocks', cipher },
});

export const TUNNELS: readonly Tunnel[] = [
  { name: 'trojan-tls', title: 'Trojan over TLS', way: { protocol: 'trojan', carrier: TLS } },
  {
    name: 'vless-ws',
    title: 'VLESS over WebSocket over TLS',
    way: { protocol: 'vless', carrier: WS_TLS },
  },
  {
    name: 'vless-grpc',
    title: 'VLESS over gRPC over TLS',
    way: { protocol: 'vless', carrier: GRPC_TLS },
  },
  vmess('aes128', 'aes-128-gcm'),
  vmess('chacha20', 'chacha20-poly1305'),
  shadowsocks('-aes128', 'aes-128-gcm'),
  shadowsocks('-aes256', 'aes-256-gcm'),
  shadowsocks('-chacha20', 'chacha20-ietf-poly1305'),
  shadowsocks('2022-aes128', '2022-blake3-aes-128-gcm'),
  shadowsocks('2022-aes256', '2022-blake3-aes-256-gcm'),
  shadowsocks('2022-chacha20', '2022-blake3-chacha20-poly1305'),
];

export const HYSTERIA2: Tunnel = {
  name: 'hysteria2',
  title: 'Hysteria 2',
  way: { protocol: 'hysteria2' },
};

export const HYSTERIA2_SALAMANDER: Tunnel = {
  name: 'hysteria2-salamander',
  title: 'Hysteria 2 under Salamander',
  way: { protocol: 'hysteria2', obfuscated: true },
};

/** Neither its rate nor its queue are limits to programs on the same machine. */
const FAR: Path = { roundTrip: 50, loss: 0.01, rate: 5e8, queue: 16 << 20 };

export const HYSTERIA2_FAR: Tunnel = {
  name: 'hysteria2-far',
  title: 'Hysteria 2, 50 ms and 1 % loss',
  way: { protocol: 'hysteria2' },
  path: FAR,
};
