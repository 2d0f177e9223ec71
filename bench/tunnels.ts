import { GRPC_TLS, TLS, WS_TLS, type Way } from '../test/support/ways/way.ts';

/** A way between a client and a server, as the cases call it. */
export interface Tunnel {
  /** In the names of cases: `tunnel-NAME-down`. */
  readonly name: string;
  readonly title: string;
  readonly way: Way;
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
