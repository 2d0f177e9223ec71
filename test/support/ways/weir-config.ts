import { portOf, type Address } from '../data/address.ts';
import { certificate, SERVER_NAME } from './certificate.ts';
import {
  clientSecrets,
  ID,
  LOGIN,
  OBFS_PASSWORD,
  OTHER_ID,
  PASSWORD,
  shadowsocksSecrets,
} from './secrets.ts';
import { carrierOf, isPlain, type Protocol, type Way } from './way.ts';

export interface WeirInOptions {
  readonly tag?: string;
  /** Absent: the kernel chooses. */
  readonly port?: number;
  /** So many other users beside the way's own, where the protocol has users. */
  readonly guests?: number;
  /** More lines of the inbound's own table. */
  readonly more?: string;
}

/** Weir's inbound for a way, with the user or the users that the other side is one of. */
export function weirIn(way: Way, options: WeirInOptions = {}): string {
  const { tag = way.protocol, port = 0, guests = 0, more = '' } = options;
  return table([
    '[[inbound]]',
    `tag = "${tag}"`,
    `protocol = "${way.protocol}"`,
    `port = ${port}`,
    more,
    '[inbound.settings]',
    inboundSettings(way, guests),
    ...stream('inbound', way),
  ]);
}

export interface WeirOutOptions {
  readonly tag?: string;
  /** In place of the settings that the server takes. */
  readonly settings?: string;
}

/** Weir's outbound for a way, to a server that has its user. */
export function weirOut(way: Way, server: Address, options: WeirOutOptions = {}): string {
  const { tag = 'out', settings = outboundSettings(way) } = options;
  return table([
    '[[outbound]]',
    `tag = "${tag}"`,
    `protocol = "${way.protocol}"`,
    'server = "127.0.0.1"',
    `port = ${portOf(server)}`,
    '[outbound.settings]',
    settings,
    ...stream('outbound', way),
  ]);
}

function inboundSettings(way: Way, guests: number): string {
  const numbers = Array.from({ length: guests }, (_, i) => i);
  const list = (key: string, own: readonly string[], guest: (i: number) => string): string =>
    `${key} = [${[...numbers.map(guest), ...own].join(', ')}]`;
  const accounts = list(
    'accounts',
    [`{ user = "${LOGIN.user}", pass = "${LOGIN.pass}" }`],
    (i) => `{ user = "guest${i}", pass = "guest" }`,
  );
  const user = list(
    'users',
    [OTHER_ID, ID].map((id) => `{ id = "${id}" }`),
    (i) => `{ id = "00000000-0000-4000-8000-${String(i).padStart(12, '0')}" }`,
  );
  const settings: Readonly<Record<Protocol, string>> = {
    socks: way.login === true ? `auth = "password"\n${accounts}` : '',
    http: way.login === true ? accounts : '',
    trojan: list(
      'users',
      [`{ password = "${PASSWORD}", email = "mia@example.com" }`],
      (i) => `{ password = "guest ${i}" }`,
    ),
    vless: user,
    vmess: user,
    shadowsocks: shadowsocksIn(way, guests),
    hysteria2: way.protocol === 'hysteria2' ? hysteria2In(way) : '',
  };
  return settings[way.protocol];
}

function hysteria2In(way: Way): string {
  const { certFile, keyFile } = certificate();
  const lines = [
    `cert_file = "${certFile}"`,
    `key_file = "${keyFile}"`,
    `password = "${PASSWORD}"`,
    'udp = true',
  ];
  return [...lines, ...obfuscation(way)].join('\n');
}

function hysteria2Out(way: Way): string {
  const lines = [
    `password = "${clientSecrets(way).password}"`,
    `server_name = "${SERVER_NAME}"`,
    `ca_file = "${certificate().caFile}"`,
  ];
  return [...lines, ...obfuscation(way)].join('\n');
}

const obfuscation = ({ obfuscated = false }: Way): string[] =>
  obfuscated ? ['obfs = "salamander"', `obfs_password = "${OBFS_PASSWORD}"`] : [];

function shadowsocksIn(way: Way, guests: number): string {
  const { server, users } = shadowsocksSecrets(way);
  const others = Array.from({ length: users.length > 0 ? guests : 0 }, (_, i) =>
    Buffer.alloc(Buffer.from(server, 'base64').length, `${i} is a guest `).toString('base64'),
  );
  const list = [...others, ...users]
    .map((user) => `{ password = "${user}", email = "someone" }`)
    .join(', ');
  const one = `method = "${way.cipher}"\npassword = "${server}"`;
  return users.length > 0 ? `${one}\nusers = [${list}]` : one;
}

function outboundSettings(way: Way): string {
  const { id, password, login: account } = clientSecrets(way);
  const login = way.login === true ? `user = "${account.user}"\npass = "${account.pass}"` : '';
  const settings: Readonly<Record<Protocol, string>> = {
    socks: login,
    http: login,
    trojan: `password = "${password}"`,
    vless: `id = "${id}"`,
    vmess: `id = "${id}"\nsecurity = "${way.cipher ?? 'auto'}"`,
    shadowsocks: `method = "${way.cipher}"\npassword = "${shadowsocksSecrets(way).client}"`,
    hysteria2: way.protocol === 'hysteria2' ? hysteria2Out(way) : '',
  };
  return settings[way.protocol];
}

function stream(side: 'inbound' | 'outbound', way: Way): string[] {
  if (isPlain(way)) return [];
  const { network, tls = false, earlyData = false } = carrierOf(way);
  const lines = [`[${side}.stream]`, `network = "${network === 'tcp' ? 'tls' : network}"`];
  if (tls && network !== 'tcp') lines.push('security = "tls"');
  if (network === 'ws') lines.push(`ws.path = "/tunnel${earlyData ? '?ed=2048' : ''}"`);
  if (network === 'grpc') lines.push('grpc.service_name = "Tunnel"');
  if (!tls) return lines;
  const { certFile, keyFile, caFile } = certificate();
  const keys =
    side === 'inbound'
      ? `cert_file = "${certFile}", key_file = "${keyFile}"`
      : `server_name = "${SERVER_NAME}", ca_file = "${caFile}"`;
  return [...lines, `tls = { ${keys} }`];
}

const table = (lines: readonly string[]): string =>
  `${lines.filter((line) => line !== '').join('\n')}\n\n`;
