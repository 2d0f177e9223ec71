import { PASSWORD } from './secrets.ts';
import { CARRIERS, type Way } from './way.ts';

const ofWeir = CARRIERS.filter(({ multi = false, earlyData = false }) => !multi && !earlyData);

/** Every protocol with accounts that have names, on every carrier that it has. */
export const ACCOUNT_WAYS: readonly Way[] = [
  { protocol: 'socks', login: true },
  { protocol: 'http', login: true },
  ...ofWeir.map((carrier): Way => ({ protocol: 'trojan', carrier })),
  ...ofWeir.map((carrier): Way => ({ protocol: 'vless', carrier })),
  ...ofWeir.map((carrier): Way => ({ protocol: 'vmess', cipher: 'aes-128-gcm', carrier })),
  { protocol: 'shadowsocks', cipher: 'chacha20-ietf-poly1305', users: true },
  { protocol: 'shadowsocks', cipher: '2022-blake3-aes-128-gcm', users: true },
  { protocol: 'hysteria2' },
];

/** A Hysteria 2 inbound with an account that has a name, in place of one password for all. */
export const withAccount = (inbound: string): string =>
  inbound.replace(`password = "${PASSWORD}"\nudp`, 'users = [{ user = "mia", pass = "x" }]\nudp');

export const asAccount = (way: Way, outbound: string): string =>
  way.protocol !== 'hysteria2'
    ? outbound
    : outbound.replace(`password = "${PASSWORD}"`, 'password = "mia:x"');
