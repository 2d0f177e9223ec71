import { portOf, type Address } from '../data/address.ts';
import { SERVER_NAME, type Certificate } from '../ways/certificate.ts';
import { SECRETS } from './secrets.ts';

/* A configuration with every kind of secret, and outbounds that use the same or wrong ones. */

const inbound = (tag: string, protocol: string, settings: string, stream = ''): string =>
  `[[inbound]]\ntag = "${tag}"\nprotocol = "${protocol}"\nport = 0\nsettings = { ${settings} }\n${stream}\n`;

/** The inbounds with a secret, by tag: those that outbounds dial. */
export const DIALED = [
  'http',
  'trojan',
  'vless-ws',
  'vless-grpc',
  'vmess',
  'ss',
  'ss2022',
  'hysteria2',
] as const;

/** The protocols of inbounds with another tag. */
const PROTOCOL: Readonly<Record<string, string>> = {
  'vless-ws': 'vless',
  'vless-grpc': 'vless',
  ss: 'shadowsocks',
  ss2022: 'shadowsocks',
};

export function inbounds({ certFile, keyFile }: Certificate): string {
  const files = `cert_file = "${certFile}", key_file = "${keyFile}"`;
  const vless = `users = [{ id = "${SECRETS.vless}" }, { id = "${SECRETS.otherVless}" }]`;
  return [
    `[log]\nlevel = "trace"\n`,
    `[dns]\nbackend = "https"\nserver = "127.0.0.1:9"\n`,
    `url = "https://dns.example/${SECRETS.resolver}?${SECRETS.resolver}"\n`,
    `[api]\nlisten = "127.0.0.1:0"\nsecret = "${SECRETS.api}"\n`,
    '[subscribe]\npath = "nodes.toml"\n',
    ...['plain', ...DIALED.flatMap((tag) => [`to-${tag}`, `wrong-${tag}`]), 'to-wireguard'].map(
      (tag) => `[[inbound]]\ntag = "${tag}"\nprotocol = "socks"\nport = 0\n`,
    ),
    inbound(
      'socks',
      'socks',
      `auth = "password", accounts = [{ user = "ann", pass = "${SECRETS.socks}" }]`,
    ),
    inbound('http', 'http', `accounts = [{ user = "ann", pass = "${SECRETS.http}" }]`),
    inbound(
      'trojan',
      'trojan',
      `users = [{ password = "${SECRETS.trojan}", email = "tom@example.com" }]`,
      `stream = { network = "tls", tls = { ${files} } }`,
    ),
    inbound(
      'vless-ws',
      'vless',
      vless,
      `stream = { network = "ws", ws = { path = "${SECRETS.wsPath}" } }`,
    ),
    inbound(
      'vless-grpc',
      'vless',
      vless,
      `stream = { network = "grpc", grpc = { service_name = "${SECRETS.grpcService}" } }`,
    ),
    inbound('vmess', 'vmess', `users = [{ id = "${SECRETS.vmess}" }]`),
    inbound('ss', 'shadowsocks', `method = "aes-128-gcm", password = "${SECRETS.shadowsocks}"`),
    inbound(
      'ss2022',
      'shadowsocks',
      `method = "2022-blake3-aes-128-gcm", password = "${SECRETS.shadowsocks2022}", ` +
        `users = [{ password = "${SECRETS.user2022}", email = "uma@example.com" }]`,
    ),
    inbound(
      'hysteria2',
      'hysteria2',
      `${files}, password = "${SECRETS.hysteria2}", obfs = "salamander", obfs_password = "${SECRETS.obfuscation}"`,
    ),
    '[[outbound]]\ntag = "direct"\nprotocol = "freedom"\n',
  ].join('\n');
}

/** Outbounds to those inbounds, each with the secret and with a wrong one, and rules that lead to them. */
export function outbounds(
  addresses: ReadonlyMap<string, Address>,
  { caFile }: Certificate,
): string {
  const ca = `server_name = "${SERVER_NAME}", ca_file = "${caFile}"`;
  const settings = (isWrong: boolean): Record<(typeof DIALED)[number], string> => {
    const secrets = isWrong ? WRONG : SECRETS;
    return {
      http: `user = "ann", pass = "${secrets.http}"`,
      trojan: `password = "${secrets.trojan}"`,
      'vless-ws': `id = "${secrets.vless}"`,
      'vless-grpc': `id = "${secrets.vless}"`,
      vmess: `id = "${secrets.vmess}", security = "aes-128-gcm"`,
      ss: `method = "aes-128-gcm", password = "${secrets.shadowsocks}"`,
      ss2022: `method = "2022-blake3-aes-128-gcm", password = "${SECRETS.shadowsocks2022}:${secrets.user2022}"`,
      hysteria2: `password = "${secrets.hysteria2}", ${ca}, obfs = "salamander", obfs_password = "${SECRETS.obfuscation}"`,
    };
  };
  const streams: Partial<Record<(typeof DIALED)[number], string>> = {
    trojan: `stream = { network = "tls", tls = { ${ca} } }\n`,
    'vless-ws': `stream = { network = "ws", ws = { path = "${SECRETS.wsPath}" } }\n`,
    'vless-grpc': `stream = { network = "grpc", grpc = { service_name = "${SECRETS.grpcService}" } }\n`,
  };
  const dialed = DIALED.flatMap((tag) =>
    [false, true].map((isWrong) => {
      const [server, name] = [addresses.get(tag), `${isWrong ? 'wrong' : 'to'}-${tag}`];
      if (server === undefined) throw new Error(`no inbound ${tag}`);
      return [
        `[[outbound]]\ntag = "${name}"\nprotocol = "${PROTOCOL[tag] ?? tag}"\n`,
        `server = "127.0.0.1"\nport = ${portOf(server)}\n`,
        `settings = { ${settings(isWrong)[tag]} }\n${streams[tag] ?? ''}`,
        `[[route.rule]]\noutbound = "${name}"\ninbound_tag = ["${name}"]\n`,
      ].join('');
    }),
  );
  return [
    ...dialed,
    `[[outbound]]\ntag = "wireguard"\nprotocol = "wireguard"\n[outbound.settings]\n`,
    `private_key = "${SECRETS.wireguard}"\npreshared_key = "${SECRETS.preshared}"\n`,
    `peer_public_key = "${Buffer.alloc(32, 6).toString('base64')}"\n`,
    `endpoint = "127.0.0.1:9"\naddress = ["10.0.0.2"]\n`,
    '[[route.rule]]\noutbound = "wireguard"\ninbound_tag = ["to-wireguard"]\n',
  ].join('\n');
}

const WRONG = {
  http: SECRETS.wrongHttp,
  trojan: SECRETS.wrongTrojan,
  vless: SECRETS.wrongVless,
  vmess: SECRETS.wrongVmess,
  shadowsocks: SECRETS.wrongShadowsocks,
  user2022: SECRETS.wrong2022,
  hysteria2: SECRETS.wrongHysteria2,
};
