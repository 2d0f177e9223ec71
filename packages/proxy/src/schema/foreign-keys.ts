/**
 * Keys of other programs, as `squashed` writes them, and Weir's names for them: the hint shows those that the table
 * has.
 */
const NAMES_HERE: Readonly<Record<string, readonly string[]>> = {
  sni: ['server_name'],
  servername: ['server_name'],
  peer: ['server_name'],
  uuid: ['id'],
  clients: ['users', 'accounts'],
  users: ['accounts', 'users'],
  username: ['user'],
  passwd: ['pass', 'password'],
  password: ['pass', 'password'],
  pass: ['password'],
  name: ['tag'],
  tag: ['name'],
  address: ['server', 'endpoint'],
  host: ['server'],
  bind: ['listen'],
  listenaddr: ['listen'],
  loglevel: ['level'],
  proxies: ['outbounds', 'outbound'],
  interval: ['probe_interval'],
  timeout: ['probe_timeout'],
  interfacename: ['name'],
  device: ['name'],
  inet4address: ['address'],
  wssettings: ['ws'],
  wsopts: ['ws'],
  tlssettings: ['tls'],
  grpcsettings: ['grpc'],
  grpcopts: ['grpc'],
  grpcservicename: ['service_name'],
  serverport: ['port'],
  listenport: ['port'],
  cipher: ['method', 'security'],
  type: ['protocol', 'network', 'strategy'],
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
  balancertag: ['outbound'],
  target: ['outbound'],
  selector: ['outbounds'],
  sourceipcidr: ['source_cidr'],
  srcipcidr: ['source_cidr'],
  source: ['source_cidr'],
  portrange: ['port'],
  dstport: ['port'],
  inbound: ['inbound_tag'],
  domainstrategy: ['address_family'],
  ipversion: ['address_family'],
  sniff: ['sniffing'],
  inet6address: ['address'],
  routeaddress: ['routes'],
  nameserver: ['server'],
  token: ['secret'],
  auth: ['password'],
  authstr: ['password'],
};

export const NO_REALITY = 'REALITY is not supported: use TLS with a certificate';

const NO_BANDWIDTH = 'no bandwidth is stated, since congestion control finds it: leave the key out';
const NO_PORT_HOPPING = 'a server has one port: port hopping is not supported';

/** Squashed keys of features that Weir does not have. */
const NOT_HERE: Readonly<Record<string, string>> = {
  flow: 'XTLS flows (Vision) are not supported: leave `flow` out, here and at the server',
  reality: NO_REALITY,
  publickey: NO_REALITY,
  email: 'these accounts have no names: leave it out, or write the name in a comment',
  level: 'accounts have no levels: leave it out',
  encryption: 'VLESS has no encryption of its own here: leave the key out, and use TLS',
  alterid: 'accounts are those with AEAD headers, which have no alterId: leave it out',
  fingerprint: 'the TLS handshake cannot imitate a browser: leave the key out',
  utls: 'the TLS handshake cannot imitate a browser: leave the key out',
  alpn: 'what is offered follows from the carrier: leave the key out',
  mux: 'outbounds do not multiplex: leave the key out',
  multiplex: 'outbounds do not multiplex: leave the key out',
  plugin: 'Shadowsocks plugins are not supported',
  detour: 'an outbound cannot go through another one',
  up: NO_BANDWIDTH,
  down: NO_BANDWIDTH,
  upmbps: NO_BANDWIDTH,
  downmbps: NO_BANDWIDTH,
  fallbacks: 'fallbacks are not supported',
  serverports: NO_PORT_HOPPING,
  mport: NO_PORT_HOPPING,
  hopinterval: NO_PORT_HOPPING,
  tcpfastopen: 'TCP Fast Open is not used: leave the key out',
  tfo: 'TCP Fast Open is not used: leave the key out',
  udpovertcp: 'UDP over TCP is not supported: leave the key out, and use UDP',
  autoroute: 'routes are written out: `routes` lists what is routed into the device',
  strictroute: 'no route is added but those of `routes`: leave the key out',
  routeexcludeaddress: 'write `routes` without the networks that stay outside',
  dnshijack:
    'queries to port 53 of the other addresses in the networks of `address` are answered by [dns]: leave the key out',
  setsystemproxy: 'the proxy settings of the desktop are not changed: leave the key out',
  packetencoding: 'outbounds do not multiplex: leave the key out',
  autodetectinterface: 'Weir finds the way out beside a device by itself: leave the key out',
  stack: 'there is one TCP/IP stack: leave the key out',
  invert: 'a rule cannot be inverted: give what it does not match to an earlier rule',
  ipisprivate: 'write the networks as `cidr`, such as 10.0.0.0/8, 172.16.0.0/12 and 192.168.0.0/16',
  vnext:
    'the server is not in `settings`: write its address and port as `server` and `port` of the outbound',
  servers:
    'the server is not in `settings`: write its address and port as `server` and `port` of the outbound',
  action:
    'a rule has an outbound in place of an action: outbound = "blackhole" rejects, "direct" connects directly',
  ruleset:
    'lists of rules are not fetched: `geosite` and `geoip` take lists of the files that [route] names',
  processname: 'rules do not know the program of a connection',
  authuser: 'rules do not know the user of a connection',
  clashmode:
    'rules have no modes: `weir ctl pick default` switches the default route while Weir runs',
  domainwildcard: 'write `domain_suffix` for *.example.com, and `domain_regex` for other patterns',
};

/** The right place for a key that is in the wrong table, found by a key that this table has. Keys are squashed. */
interface Place {
  readonly keys: readonly string[];
  readonly beside: string;
  /** @param key as the other table has it */
  readonly write: (key: string) => string;
}

const TLS_KEYS = [
  'servername', 'sni', 'peer', 'allowinsecure', 'insecure', 'skipcertverify', 'cafile', 'certfile', 'keyfile',
  'certificatepath', 'keypath',
]; // prettier-ignore
const SETTINGS_KEYS = [
  'password', 'pass', 'passwd', 'id', 'uuid', 'method', 'cipher', 'user', 'username', 'users', 'clients', 'accounts', 'auth',
  'obfs', 'obfspassword', 'privatekey', 'peerpublickey', 'presharedkey', 'endpoint', 'mtu', 'udp', 'routes', 'routeaddress',
  'interfacename', 'inet4address', 'inet6address',
]; // prettier-ignore

/** Keys of an inbound or outbound, squashed. */
const OWN_KEYS = new Set([
  'tag',
  'protocol',
  'listen',
  'port',
  'server',
  'addressfamily',
  'sniffing',
  'stream',
  'settings',
]);

const PLACES: readonly Place[] = [
  {
    keys: ['id', 'uuid', 'password'],
    beside: 'users',
    write: (key) => `users = [{ ${key} = … }], a list of all who may connect`,
  },
  {
    keys: ['port', 'listenport', 'address', 'externalcontroller'],
    beside: 'secret',
    write: () => 'listen = "127.0.0.1:9090", which has the port',
  },
  { keys: ['name'], beside: 'email', write: () => 'email = …, which is the name of a user' },
  { keys: ['headers'], beside: 'host', write: () => 'host = "…"; no other header is sent' },
  {
    keys: ['address'],
    beside: 'sniffing',
    write: () => 'listen = "…"; the addresses of a tun device are settings = { address = […] }',
  },
  { keys: ['servers'], beside: 'backend', write: () => 'server = "…", the address of one' },
  {
    keys: ['tls', 'ssl'],
    beside: 'obfs',
    write: () => 'nothing for it: Hysteria 2 always has TLS, with its keys here',
  },
  { keys: TLS_KEYS, beside: 'grpc', write: (key) => `tls = { ${key} = … }` },
  { keys: ['path', 'host', 'headers'], beside: 'grpc', write: (key) => `ws = { ${key} = … }` },
  {
    keys: ['servicename', 'grpcservicename', 'authority'],
    beside: 'ws',
    write: (key) => `grpc = { ${key} = … }`,
  },
  {
    keys: ['tls', 'ssl'],
    beside: 'stream',
    write: () =>
      'stream = { network = "tls" }; below WebSocket or gRPC add security = "tls" to the stream',
  },
  {
    keys: ['network', 'ws', 'grpc', 'security'],
    beside: 'stream',
    write: (key) => `stream = { ${key} = … }`,
  },
  {
    keys: TLS_KEYS,
    beside: 'stream',
    write: (key) => `stream = { network = "tls", tls = { ${key} = … } }`,
  },
  {
    keys: ['path'],
    beside: 'stream',
    write: (key) => `stream = { network = "ws", ws = { ${key} = … } }`,
  },
  { keys: SETTINGS_KEYS, beside: 'settings', write: (key) => `settings = { ${key} = … }` },
  {
    keys: ['protocol'],
    beside: 'domain_suffix',
    write: () => 'network or port: rules do not know what a connection carries',
  },
  {
    keys: ['user'],
    beside: 'domain_suffix',
    write: () => 'inbound_tag: rules do not know the user of a connection',
  },
  {
    keys: ['url'],
    beside: 'probe_interval',
    write: () => 'nothing for it: probes connect to the server and port of each member',
  },
  {
    keys: ['tolerance'],
    beside: 'probe_interval',
    write: () => 'nothing for it: the order of the members decides, not their delay',
  },
  {
    keys: ['enabled'],
    beside: 'allow_insecure',
    write: () => 'network = "tls", or security = "tls" below WebSocket and gRPC, in the stream',
  },
  {
    keys: ['maxearlydata', 'earlydataheadername'],
    beside: 'host',
    write: () => 'path = "/…?ed=2048"',
  },
  {
    keys: ['outbounds'],
    beside: 'domain_suffix',
    write: () => 'outbound = "…", one for each rule; several behind one tag are a [[balancer]]',
  },
  { keys: ['proxygroups'], beside: 'balancer', write: () => '[[balancer]]' },
  { keys: ['rule', 'rules'], beside: 'outbound', write: () => '[[route.rule]]' },
  { keys: ['externalcontroller'], beside: 'api', write: () => '[api] with listen' },
  { keys: ['mixedport', 'socksport'], beside: 'inbound', write: () => 'an [[inbound]] with port' },
  { keys: ['loglevel'], beside: 'log', write: () => '[log] with level' },
];

/** Names that Weir's own tables have for keys with another name elsewhere. */
const IN_PLACE: Readonly<Record<string, string>> = {
  sni: 'server_name',
  servername: 'server_name',
  peer: 'server_name',
  insecure: 'allow_insecure',
  skipcertverify: 'allow_insecure',
  certificatepath: 'cert_file',
  keypath: 'key_file',
  uuid: 'id',
  cipher: 'method',
  username: 'user',
  passwd: 'password',
  interfacename: 'name',
  inet4address: 'address',
  inet6address: 'address',
  routeaddress: 'routes',
  clients: 'users',
  grpcservicename: 'service_name',
  servicename: 'service_name',
};

/** Returns a key in lower case without separators: `server_port`, `serverPort` and `Server-Port` are one key. */
const squashed = (key: string): string => key.toLowerCase().replaceAll(/[_-]/g, '');

/** Returns the names that a key of other programs has in tables here; none for any other key. */
export function namesHere(name: string): readonly string[] {
  const key = squashed(name);
  return Object.hasOwn(NAMES_HERE, key) ? (NAMES_HERE[key] ?? []) : [];
}

/** Returns a hint for a key of other programs; `undefined` for any other key. */
export function foreignKeyHint(name: string, known: Iterable<string>): string | undefined {
  const key = squashed(name);
  const choices = new Set(known);
  const here = namesHere(name).find((each) => choices.has(each));
  if (here !== undefined) return `\`${name}\` is called \`${here}\` here`;
  const place = PLACES.find(({ keys, beside }) => choices.has(beside) && keys.includes(key));
  if (place) return `\`${name}\` does not belong here; write ${place.write(IN_PLACE[key] ?? name)}`;
  if (Object.hasOwn(NOT_HERE, key)) return NOT_HERE[key];
  if (choices.has('outbound')) return undefined;
  if (OWN_KEYS.has(key)) {
    return `\`${name}\` is a key of the inbound or outbound: keys behind a [header] belong to its table, so write it above the header`;
  }
  if (key !== 'tls' && key !== 'ssl') return undefined;
  return `\`${name}\` does not belong here; write stream = { network = "tls" } in the inbound or outbound`;
}
