import {
  CARRIERS,
  GRPC_TLS,
  TCP,
  TLS,
  WS_TLS,
  type Carrier,
  type Protocol,
  type Way,
} from '../ways/way.ts';

const over = (carriers: readonly Carrier[], way: Way): Way[] =>
  carriers.map((carrier) => ({ ...way, carrier }));

const shadowsocks = (cipher: string, users = false): Way => ({
  protocol: 'shadowsocks',
  cipher,
  users,
});

/** The rows of the matrix: every protocol over every carrier, and what some clients make of it. */
export const ROWS: Readonly<Record<Protocol, readonly Way[]>> = {
  socks: [...over(CARRIERS, { protocol: 'socks' }), { protocol: 'socks', login: true }],
  http: [...over(CARRIERS, { protocol: 'http' }), { protocol: 'http', login: true }],
  trojan: over(CARRIERS, { protocol: 'trojan' }),
  vless: [
    ...over(CARRIERS, { protocol: 'vless' }),
    ...over([TCP, WS_TLS, GRPC_TLS], { protocol: 'vless', mux: 8 }),
    { protocol: 'vless', mux: 1024 },
    ...over([TCP, WS_TLS, GRPC_TLS], { protocol: 'vless', xudp: true }),
  ],
  vmess: [
    ...over(CARRIERS, { protocol: 'vmess', cipher: 'aes-128-gcm' }),
    // A carrier does not depend on the cipher in it: one of each kind is enough.
    ...over([TCP, TLS, WS_TLS, GRPC_TLS], { protocol: 'vmess', cipher: 'chacha20-poly1305' }),
    { protocol: 'vmess', cipher: 'aes-128-gcm', mux: 8 },
    { protocol: 'vmess', cipher: 'chacha20-poly1305', mux: 8 },
    { protocol: 'vmess', cipher: 'aes-128-gcm', mux: 1024 },
    { protocol: 'vmess', cipher: 'aes-128-gcm', xudp: true },
  ],
  shadowsocks: [
    shadowsocks('aes-128-gcm'),
    shadowsocks('aes-256-gcm'),
    shadowsocks('chacha20-ietf-poly1305'),
    shadowsocks('xchacha20-ietf-poly1305'),
    shadowsocks('aes-256-gcm', true),
    shadowsocks('2022-blake3-aes-128-gcm'),
    shadowsocks('2022-blake3-aes-256-gcm'),
    shadowsocks('2022-blake3-chacha20-poly1305'),
    shadowsocks('2022-blake3-aes-128-gcm', true),
    shadowsocks('2022-blake3-aes-256-gcm', true),
    ...over([TLS, WS_TLS, GRPC_TLS], shadowsocks('aes-128-gcm')),
    ...over([TLS, WS_TLS, GRPC_TLS], shadowsocks('2022-blake3-aes-128-gcm')),
  ],
  hysteria2: [{ protocol: 'hysteria2' }, { protocol: 'hysteria2', obfuscated: true }],
};
