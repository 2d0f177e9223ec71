/**
 * Keys of other programs, and their names here, of which the table may have one. They are written as `squashed` does.
 */
const NAMES_HERE: Readonly<Record<string, readonly string[]>> = {
  sni: ['server_name'],
  servername: ['server_name'],
  peer: ['server_name'],
  uuid: ['id'],
  clients: ['users', 'accounts'],
  users: ['accounts', 'users'],
  username: ['user'],
  address: ['server', 'endpoint'],
  serverport: ['port'],
  listenport: ['port'],
  cipher: ['method', 'security'],
  type: ['protocol', 'network'],
  insecure: ['allow_insecure'],
  skipcertverify: ['allow_insecure'],
  streamsettings: ['stream'],
  transport: ['stream'],
  certificatepath: ['cert_file', 'ca_file'],
  keypath: ['key_file'],
  certificatefile: ['cert_file'],
  keyfile: ['key_file'],
  localaddress: ['address'],
  publickey: ['peer_public_key'],
  secretkey: ['private_key'],
  persistentkeepalive: ['keepalive'],
  domain: ['domain_full', 'domain_suffix'],
  ip: ['cidr'],
  ipcidr: ['cidr'],
  outboundtag: ['outbound'],
  inboundtag: ['inbound_tag'],
  final: ['default'],
};

/** Keys of features that Weir does not have, in the same form. */
const NOT_HERE: Readonly<Record<string, string>> = {
  flow: 'XTLS flows (Vision) are not supported: leave `flow` out, here and at the server',
  reality: 'REALITY is not supported: use TLS with a certificate',
  publickey: 'REALITY is not supported: use TLS with a certificate',
  encryption: 'VLESS has no encryption of its own here: leave the key out, and use TLS',
  alterid: 'accounts are those with AEAD headers, which have no alterId: leave it out',
  fingerprint: 'the TLS handshake cannot imitate a browser: leave the key out',
  utls: 'the TLS handshake cannot imitate a browser: leave the key out',
  alpn: 'what is offered follows from the carrier: leave the key out',
  mux: 'outbounds do not multiplex: leave the key out',
  multiplex: 'outbounds do not multiplex: leave the key out',
  plugin: 'Shadowsocks plugins are not supported',
  detour: 'an outbound cannot go through another one',
  upmbps: 'no bandwidth is stated: congestion control finds it',
  downmbps: 'no bandwidth is stated: congestion control finds it',
  fallbacks: 'fallbacks are not supported',
};

/** `server_port`, `serverPort` and `Server-Port` are one key. */
const squashed = (key: string): string => key.toLowerCase().replaceAll(/[_-]/g, '');

/** The names that a key of other programs has in tables here; none for any other key. */
export function namesHere(name: string): readonly string[] {
  const key = squashed(name);
  return Object.hasOwn(NAMES_HERE, key) ? (NAMES_HERE[key] ?? []) : [];
}

/** A hint for a key of other programs; `undefined` for any other key. */
export function foreignKeyHint(name: string, known: Iterable<string>): string | undefined {
  const key = squashed(name);
  const choices = new Set(known);
  const here = namesHere(name).find((each) => choices.has(each));
  if (here !== undefined) return `\`${name}\` is called \`${here}\` here`;
  return Object.hasOwn(NOT_HERE, key) ? NOT_HERE[key] : undefined;
}
