import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { deserializeError, serializeError } from '../../../server/src/app/loading/typed-worker.ts';
import { ConfigError, configHints } from '../../src/errors.ts';
import { foreignFormat, foreignFormatHint } from '../../src/sources/foreign-format.ts';
import { parseCertificateChain, parseServerKey } from '@weir/crypto/certificates';
import { WeirError } from '@weir/base';
import { TestAuthority } from '../../../../test/support/data/test-certificates.ts';
import {
  DIRECT,
  errorOf,
  fakeFiles,
  inbound,
  loadErrorOf,
  outbound,
  rule,
} from '../../../../test/support/config/support.ts';

const stream = (network: string): string =>
  outbound(`protocol = "http"\nserver = "a.example"\nport = 1\nstream.network = "${network}"`);

/** What is refused, the text that stays as it is, and what the hints say. */
const ROWS: readonly (readonly [what: string, text: string, message: string, hint: RegExp])[] = [
  [
    'a mistyped protocol',
    inbound('protocol = "sock"'),
    'unknown protocol',
    /^protocol = "sock" is unknown; an inbound has .*vmess; did you mean "socks"\?$/,
  ],
  [
    'a protocol of outbounds',
    inbound('protocol = "freedom"'),
    'unknown protocol',
    /is for an outbound; an inbound has/,
  ],
  [
    'a protocol of inbounds',
    outbound('protocol = "tun"'),
    'unknown protocol',
    /is for an inbound; an outbound has/,
  ],
  [
    'two protocols on one port',
    inbound('protocol = "mixed"'),
    'unknown protocol',
    /two inbounds here/,
  ],
  [
    'a refusal under another name',
    outbound('protocol = "reject"'),
    'unknown protocol',
    /did you mean "blackhole"\?$/,
  ],
  [
    'a short name',
    outbound('protocol = "ss"'),
    'unknown protocol',
    /did you mean "shadowsocks"\?$/,
  ],
  [
    'a group of another program',
    outbound('protocol = "urltest"'),
    'unknown protocol',
    /\[\[balancer\]\]/,
  ],
  [
    'a link in the place of a protocol',
    outbound('protocol = "vless://id@host:1"'),
    'unknown protocol',
    /^protocol is unknown; an outbound has [^@]*$/,
  ],
  [
    'a network under another name',
    stream('websocket'),
    'unknown stream network',
    /^network = "websocket" is unknown; a stream has tcp, tls, ws, grpc; did you mean "ws"\?$/,
  ],
  ['a network in capitals', stream('WS'), 'unknown stream network', /did you mean "ws"\?$/],
  [
    'a network of another program',
    stream('xhttp'),
    'unknown stream network',
    /^network = "xhttp" is not supported, so that the other end needs another one too; a stream has tcp, tls, ws, grpc$/,
  ],
  ...['block', 'reject', 'drop'].map(
    (tag) =>
      [
        `the tag ${tag}`,
        rule('').replace('outbound = "direct"', `outbound = "${tag}"`),
        `route references unknown outbound tag: ${tag}`,
        /refuses flows is "blackhole"$/,
      ] as const,
  ),
  [
    'a mistyped tag',
    rule('').replace('outbound = "direct"', 'outbound = "dirct"'),
    'route references unknown outbound tag: dirct',
    /^did you mean "direct"\? there are "direct", "blackhole"$/,
  ],
  [
    'the place of settings',
    inbound('protocol = "vless"\nport = 1\nsettings.x = 1'),
    'inbound in: invalid settings: unknown field `x`, expected `users`',
    /^at \/etc\/weir\.toml:8:10 \(inbound in\)$/,
  ],
];

describe('a hint is given for', () => {
  for (const [what, text, message, hint] of ROWS) {
    test(what, () => {
      const error = errorOf(text, '/etc/weir.toml');
      assert.equal(error.message, message);
      const hints = configHints(error);
      assert.equal(hints.length, 1);
      assert.match(hints[0] ?? '', hint);
    });
  }

  test('a plural key', () => {
    const error = errorOf(`[[inbounds]]\n${DIRECT}`);
    assert.match(error.message, /unknown field `inbounds`, expected one of .*`api`$/);
    assert.deepEqual(configHints(error), ['did you mean `inbound`?']);
  });
});

const WIREGUARD_KEY = Buffer.alloc(32, 7).toString('base64');
const wireguard = (over: string): string =>
  outbound(`protocol = "wireguard"
settings.private_key = "${WIREGUARD_KEY}"
settings.peer_public_key = "${WIREGUARD_KEY}"
settings.endpoint = "wg.example:51820"
${over}`);
const shadowsocks = (settings: string): string =>
  inbound(`protocol = "shadowsocks"\nport = 1\n${settings}`);
const dns = (text: string): string => `[dns]\n${text}\n${DIRECT}`;
const KEY_128 = Buffer.alloc(16, 7).toString('base64');

/** Mistakes whose specified text does not say what to do, and the hint that does. */
const MISTAKES: readonly (readonly [what: string, text: string, message: RegExp, hint: RegExp])[] =
  [
    [
      'one bracket in place of two',
      `[inbound]\ntag = "in"\nprotocol = "socks"\nport = 1\n${DIRECT}`,
      /invalid type: map, expected a sequence$/,
      /two brackets, \[\[name\]\] in place of \[name\], or the value is a list/,
    ],
    ...(
      [
        ['tls', 'tls = true', /^`tls` does not belong here; write stream = \{ network = "tls" \}/],
        ['sni', 'sni = "b"', /write stream = \{ network = "tls", tls = \{ server_name = … \} \}$/],
        ['ws', 'ws = { path = "/" }', /write stream = \{ ws = … \}$/],
        ['uuid', 'uuid = "b"', /write settings = \{ id = … \}$/],
        ['password', 'password = "b"', /write settings = \{ password = … \}$/],
        ['server_port', 'server_port = 1', /^`server_port` is called `port` here$/],
        ['serverPort', 'serverPort = 1', /^`serverPort` is called `port` here$/],
        ['server_ports', 'server_ports = ["1:2"]', /port hopping is not supported$/],
        ['detour', 'detour = "b"', /^an outbound cannot go through another one$/],
      ] as const
    ).map(
      ([key, line, hint]) =>
        [
          `${key} at an outbound`,
          outbound(`protocol = "trojan"\nserver = "a"\nport = 1\n${line}`),
          new RegExp(`unknown field .${key}., expected`),
          hint,
        ] as const,
    ),
    ...(
      [
        ['path', 'path = "/x"', /^`path` does not belong here; write ws = \{ path = … \}$/],
        ['serviceName', 'serviceName = "x"', /write grpc = \{ service_name = … \}$/],
        ['sni', 'sni = "x"', /write tls = \{ server_name = … \}$/],
        ['wsSettings', 'wsSettings = {}', /is called `ws` here$/],
        ['enabled', 'tls = { enabled = true }', /write network = "tls", or security = "tls"/],
        ['max_early_data', 'ws = { max_early_data = 2048 }', /write path = "\/…\?ed=2048"$/],
      ] as const
    ).map(
      ([key, pair, hint]) =>
        [
          `${key} in a stream`,
          outbound(
            `protocol = "trojan"\nserver = "a"\nport = 1\nstream = { network = "ws", ${pair} }`,
          ),
          /unknown field/,
          hint,
        ] as const,
    ),
    ...(
      [
        ['outbounds', 'outbounds = ["a"]', /\[\[balancer\]\]$/],
        ['action', 'action = "reject"', /outbound = "blackhole" rejects/],
        ['ip_cidr', 'ip_cidr = ["10.0.0.0/8"]', /is called `cidr` here$/],
        ['rule_set', 'rule_set = ["a"]', /lists of rules are not fetched/],
        ['process_name', 'process_name = ["a"]', /rules do not know the program/],
        ['source_ip_cidr', 'source_ip_cidr = ["10.0.0.0/8"]', /is called `source_cidr` here$/],
        ['ip_is_private', 'ip_is_private = true', /write the networks as `cidr`/],
        ['balancerTag', 'balancerTag = "a"', /is called `outbound` here$/],
        ['src-ip-cidr', 'src-ip-cidr = ["10.0.0.0/8"]', /is called `source_cidr` here$/],
        ['protocol', 'protocol = ["dns"]', /rules do not know what a connection carries$/],
        ['user', 'user = ["a"]', /rules do not know the user/],
        ['clash_mode', 'clash_mode = "global"', /`weir ctl pick default`/],
      ] as const
    ).map(([key, line, hint]) => [`${key} in a rule`, rule(line), /unknown field/, hint] as const),
    ...(
      [
        ['interface_name', 'interface_name = "tun0"', /write settings = \{ name = … \}$/],
        ['inet4_address', 'inet4_address = "172.19.0.1/30"', /settings = \{ address = … \}$/],
        ['address', 'address = ["172.19.0.1/30"]', /a tun device are settings = \{ address/],
        ['udp', 'udp = true', /write settings = \{ udp = … \}$/],
        ['set_system_proxy', 'set_system_proxy = true', /desktop are not changed/],
      ] as const
    ).map(
      ([key, line, hint]) =>
        [
          `${key} at an inbound`,
          inbound(`protocol = "socks"\n${line}`),
          /unknown field/,
          hint,
        ] as const,
    ),
    ...(
      [
        ['device', 'device = "tun0"', /is called `name` here$/],
        ['strict_route', 'strict_route = true', /but those of `routes`: leave the key out$/],
        ['dns-hijack', 'dns-hijack = ["any:53"]', /are answered by \[dns\]/],
        ['route_exclude_address', 'route_exclude_address = []', /write `routes` without/],
      ] as const
    ).map(
      ([key, line, hint]) =>
        [
          `${key} in the settings of a device`,
          `[[inbound]]\ntag = "in"\nprotocol = "tun"\n[inbound.settings]\n${line}\n${DIRECT}`,
          /unknown field/,
          hint,
        ] as const,
    ),
    ...(
      [
        ['auth_str', 'auth_str = "x"', /is called `password` here$/],
        ['hop_interval', 'hop_interval = "30s"', /port hopping is not supported$/],
        ['up', 'up = "100 Mbps"', /no bandwidth is stated/],
      ] as const
    ).map(
      ([key, line, hint]) =>
        [
          `${key} of a Hysteria client`,
          outbound(`protocol = "hysteria2"\nserver = "a"\nport = 1\n[outbound.settings]\n${line}`),
          /unknown field/,
          hint,
        ] as const,
    ),
    ...(
      [
        ['urltest', /^write "failover"/],
        ['leastPing', /^write "failover"/],
        ['load-balance', /^write "round_robin"/],
        ['roundRobin', /^write "round_robin"/],
        ['selector', /by `weir ctl pick`$/],
        ['failoverr', /^did you mean "failover"\?$/],
      ] as const
    ).map(
      ([word, hint]) =>
        [
          `the strategy ${word}`,
          `${outbound('protocol = "socks"\nserver = "a"\nport = 1')}\n[[balancer]]\ntag = "b"\noutbounds = ["out"]\nstrategy = "${word}"\n`,
          /^unknown balancer strategy/,
          hint,
        ] as const,
    ),
    ...(
      [
        ['url', 'url = "https://a.example/"', /probes connect to the server and port/],
        ['tolerance', 'tolerance = 50', /the order of the members decides/],
        ['selector', 'selector = ["a"]', /is called `outbounds` here$/],
      ] as const
    ).map(
      ([key, line, hint]) =>
        [
          `${key} of a balancer`,
          `${DIRECT}[[balancer]]\ntag = "b"\n${line}\n`,
          /unknown field/,
          hint,
        ] as const,
    ),
    ...(
      [
        [
          'a network with bits of a host',
          'cidr = ["10.1.2.3/12"]',
          /^write the network: 10.0.0.0\/12$/,
        ],
        ['an IPv6 network with bits of a host', 'cidr = ["fd00::1/8"]', /: fd00::\/8$/],
        [
          'a list of the geoip file as a network',
          'cidr = ["geoip:cn"]',
          /^write geoip = \["cn"\]$/,
        ],
        ['a name as a network', 'cidr = ["a.example"]', /^names are matched by domain_suffix/],
        ['ports in one text', 'port = ["80,443"]', /^write a text for each: "80", "443"$/],
        ['a range with a colon', 'port = ["1:2"]', /"1-2"$/],
        ['a range without an end', 'port = ["1024-"]', /"1024-65535"$/],
        ['two networks', 'network = "tcp,udp"', /leave the key out$/],
      ] as const
    ).map(([what, line, hint]) => [what, rule(line), /^invalid /, hint] as const),
    [
      'the port of a listener behind [inbound.settings]',
      inbound('protocol = "socks"\n[inbound.settings]\nport = 1'),
      /^port is required$/,
      /^port is in settings \(line 8\): keys behind a \[header\] belong to its table/,
    ],
    [
      'a server behind [outbound.settings]',
      outbound('protocol = "socks"\n[outbound.settings]\nserver = "a"\nport = 1'),
      /^missing server$/,
      /^server is in settings \(line 5\)/,
    ],
    [
      'a tag behind [outbound.settings]',
      '[[outbound]]\nprotocol = "socks"\n[outbound.settings]\ntag = "a"',
      /missing field `tag`$/,
      /^`tag` is in `settings`/,
    ],
    [
      'a number in quotes',
      inbound('protocol = "socks"\nport = "1080"'),
      /invalid type: string "1080", expected u16$/,
      /^write the number without quotes: 1080$/,
    ],
    [
      'a range of ports',
      inbound('protocol = "hysteria2"\nport = "443-500"'),
      /expected u16$/,
      /port hopping [a-z ]*not supported$/,
    ],
    [
      'a port that is too large',
      inbound('protocol = "socks"\nport = 70000'),
      /expected u16$/,
      /^write a whole number from 0 to 65535$/,
    ],
    [
      'seconds with a unit',
      `${DIRECT}[[balancer]]\ntag = "b"\noutbounds = ["direct"]\nprobe_interval = "30s"`,
      /expected u64$/,
      /^write the seconds alone, without quotes: 30$/,
    ],
    [
      'a truth value in quotes',
      inbound('protocol = "socks"\nsniffing = "true"'),
      /expected a boolean$/,
      /^write true or false, without quotes$/,
    ],
    [
      'a missing comma in a list',
      rule('domain_suffix = ["a.example"\n"b.example"]'),
      /expected comma \(,\) token$/,
      /^a comma is missing between two values, or the \] or \} behind the last$/,
    ],
    [
      'a list that is not closed',
      `${rule('domain_suffix = ["a.example"')}\n[api]\n`,
      /expected comma \(,\) token$/,
      /^a comma is missing/,
    ],
    [
      'a truth value of another language',
      inbound('protocol = "socks"\nsniffing = True'),
      /unexpected character$/,
      /^write true or false, in small letters$/,
    ],
    [
      'TLS as a truth value',
      inbound('protocol = "trojan"\nport = 1\nstream.tls = true'),
      /expected a table$/,
      /^TLS is network = "tls", or security = "tls" below WebSocket and gRPC; tls = \{ … \} has its settings/,
    ],
    [
      'the path as the table of WebSocket',
      outbound('protocol = "http"\nstream.ws = "/hunter2"'),
      /string, expected a table$/,
      /^WebSocket is network = "ws"; its path is ws = \{ path = … \}$/,
    ],
    [
      'the service as the table of gRPC',
      outbound('protocol = "http"\nstream.grpc = "hunter2"'),
      /string, expected a table$/,
      /grpc = \{ service_name = … \}$/,
    ],
    [
      'a carrier as a stream',
      outbound('protocol = "http"\nstream = "ws"'),
      /expected a table$/,
      /^write a table: stream = \{ network = "ws" \}$/,
    ],
    [
      'another text as a stream, which is not quoted',
      outbound('protocol = "http"\nstream = "hunter2"'),
      /expected a table$/,
      /^write a table: stream = \{ network = … \}$/,
    ],
    [
      'a level in place of the table of the log',
      'log = "debug"',
      /expected a table$/,
      /^write a table: \{ level = … \}$/,
    ],
    [
      'TLS among the settings',
      outbound('protocol = "trojan"\nserver = "a"\nport = 1\nsettings = { tls = true }'),
      /unknown field `tls`, expected `password`$/,
      /write stream = \{ network = "tls" \} in the inbound or outbound$/,
    ],
    [
      'TLS at a protocol that always has it',
      outbound('protocol = "hysteria2"\nserver = "a"\nport = 1\nsettings = { tls = true }'),
      /unknown field `tls`/,
      /Hysteria 2 always has TLS/,
    ],
    [
      'a port behind the header of a stream',
      outbound('protocol = "http"\nserver = "a"\nstream = { network = "tls", port = 1 }'),
      /unknown field `port`/,
      /^`port` is a key of the inbound or outbound: keys behind a \[header\] belong to its table/,
    ],
    [
      'a key of the inbound behind the header of its settings',
      inbound('protocol = "vless"\nport = 1\nsettings = { sniffing = false }'),
      /unknown field `sniffing`/,
      /^`sniffing` is a key of the inbound or outbound/,
    ],
    [
      'headers of WebSocket',
      outbound('protocol = "http"\nstream.ws = { headers = { Host = "a.example" } }'),
      /unknown field `headers`/,
      /write host = "…"; no other header is sent$/,
    ],
    [
      'several resolvers',
      `${DIRECT}[dns]\nservers = ["192.0.2.1"]`,
      /unknown field `servers`/,
      /write server = "…", the address of one$/,
    ],
    [
      'the secret of the API under another name',
      `${DIRECT}[api]\ntoken = "hunter2"`,
      /unknown field `token`/,
      /^`token` is called `secret` here$/,
    ],
    [
      'a port of the API by itself',
      `${DIRECT}[api]\nport = 9090`,
      /unknown field `port`/,
      /write listen = "127\.0\.0\.1:9090", which has the port$/,
    ],
    [
      'one user in place of a list',
      inbound('protocol = "trojan"\nport = 1\nsettings = { password = "hunter2" }'),
      /unknown field `password`, expected `users`$/,
      /write users = \[\{ password = … \}\], a list of all who may connect$/,
    ],
    [
      'a list of passwords in place of one of users',
      inbound('protocol = "trojan"\nport = 1\nsettings = { users = ["hunter2"] }'),
      /string, expected a table$/,
      /^write a table: \{ password = …, email = … \}$/,
    ],
    [
      'the name of a user',
      inbound('protocol = "trojan"\nport = 1\nsettings = { users = [{ name = "a" }] }'),
      /unknown field `name`/,
      /write email = …, which is the name of a user$/,
    ],
    [
      'the name of a user of VLESS',
      inbound('protocol = "vless"\nport = 1\nsettings = { users = [{ email = "a" }] }'),
      /unknown field `email`, expected `id`$/,
      /^these accounts have no names/,
    ],
    [
      'a list in place of a text',
      rule('network = ["tcp"]'),
      /sequence, expected a string$/,
      /^write one text, without brackets$/,
    ],
    [
      'a list in place of a secret',
      outbound(
        'protocol = "trojan"\nserver = "a"\nport = 1\nsettings = { password = ["hunter2"] }',
      ),
      /sequence, expected a string$/,
      /^write one text, without brackets$/,
    ],
    [
      'REALITY as the security of a stream',
      outbound(
        'protocol = "http"\nserver = "a"\nport = 1\nstream = { network = "ws", security = "reality" }',
      ),
      /^unknown stream security reality/,
      /^REALITY is not supported/,
    ],
    [
      'a text in place of a list',
      rule('domain_suffix = "a.example"'),
      /expected a sequence$/,
      /^write a list of texts: \["a\.example"\]$/,
    ],
    [
      'a number in place of a list',
      rule('port = 443'),
      /expected a sequence$/,
      /^write a list of texts: \["443"\]$/,
    ],
    [
      'a number in place of a text',
      rule('port = [443]'),
      /expected a string$/,
      /^a text has quotes around it: "443"$/,
    ],
    [
      'an outbound that does not exist',
      rule('').replace('outbound = "direct"', 'outbound = "proxy"'),
      /unknown outbound tag: proxy$/,
      /^there are "direct", "blackhole"$/,
    ],
    [
      'a member that does not exist, among many outbounds',
      `${Array.from({ length: 10 }, (_, i) => outbound('protocol = "freedom"').replace('out"', `n${i}"`)).join('')}[[balancer]]\ntag = "b"\noutbounds = ["proxy"]`,
      /unknown outbound tag: proxy$/,
      /^there are "n0", .*"n7", and 2 more$/,
    ],
    [
      'two inbounds of one tag',
      `${inbound('protocol = "socks"\nport = 1')}[[inbound]]\ntag = "in"\nprotocol = "http"\nport = 2`,
      /^duplicate inbound tag$/,
      /^the first "in" is at line 5$/,
    ],
    [
      'two outbounds of one tag',
      DIRECT + DIRECT,
      /^duplicate outbound/,
      /^the first "direct" is at line 2$/,
    ],
    [
      'a balancer with the tag of an outbound',
      `${DIRECT}[[balancer]]\ntag = "direct"\noutbounds = ["direct"]`,
      /collides with an outbound tag$/,
      /^the other "direct" is at line 2$/,
    ],
    [
      'hysteria2 in a balancer',
      `${outbound('protocol = "hysteria2"\nserver = "a"\nport = 1\nsettings = { password = "p" }')}[[balancer]]\ntag = "b"\noutbounds = ["out"]`,
      /cannot be balanced$/,
      /^hysteria2 has no TCP port to probe: leave it out/,
    ],
    [
      'the URL of a resolver in place of its address',
      dns('backend = "https"\nserver = "https://dns.google/dns-query"'),
      /invalid socket address syntax$/,
      /the URL is the value of url$/,
    ],
    [
      'an empty file',
      '',
      /^config defines no outbounds$/,
      /\[\[outbound\]\].*protocol = "freedom"$/,
    ],
    [
      'quotes of prose',
      '[log]\nlevel = “info”',
      /unexpected character$/,
      /^these are quotes of prose/,
    ],
    [
      'a missing quote',
      '[log]\nlevel = "info\n',
      /unterminated string/,
      /^the closing " is missing$/,
    ],
    [
      'a text without quotes',
      '[log]\nlevel = info\n',
      /TOML parse error/,
      /^a text has quotes around it/,
    ],
    ['a colon', '[log]\nlevel: "info"\n', /TOML parse error/, /^TOML has an equals sign/],
    ['no sign', '[log]\nlevel "info"\n', /TOML parse error/, /^an equals sign is missing/],
    ['a comma at the end', '[log]\nlevel = "info",\n', /TOML parse error/, /not even a comma$/],
    [
      'a comment of another language',
      '// mine\n[log]\n',
      /TOML parse error/,
      /^a comment begins with #$/,
    ],
    [
      'a path of Windows',
      '[route]\ngeoip = "C:\\geo\\x"',
      /TOML parse error/,
      /^a backslash in double quotes/,
    ],
    ['no value', '[log]\nlevel =\n', /TOML parse error/, /^the value is missing$/],
    [
      'lines of npm in the middle',
      `${DIRECT}\n> weir-proxy@2.1.1 start\n`,
      /TOML parse error/,
      /npm -s start/,
    ],
    [
      'a tunnel address with a prefix length',
      wireguard('settings.address = ["10.9.0.2/32"]'),
      /invalid IP address syntax$/,
      /^write the address without a prefix length: 10\.9\.0\.2$/,
    ],
    [
      'an address with a port, where a relay binds',
      inbound('protocol = "socks"\nport = 1\nsettings.udp_bind = "[2001:db8::1]:5"'),
      /invalid IP address syntax$/,
      /^write the address alone: 2001:db8::1$/,
    ],
    [
      'a resolver without a port',
      dns('backend = "udp"\nserver = "1.1.1.1"'),
      /invalid socket address syntax$/,
      /^the port is missing: 1\.1\.1\.1:53$/,
    ],
    [
      'a resolver over TLS without a port',
      dns('backend = "tls"\nserver = "2606:4700::1111"\nserver_name = "a"'),
      /invalid socket address syntax$/,
      /^write IPv6 in brackets, with a port: \[2606:4700::1111\]:853$/,
    ],
    [
      'the name of a resolver',
      dns('backend = "tls"\nserver = "dns.google:853"\nserver_name = "dns.google"'),
      /invalid socket address syntax$/,
      /^dns\.google is a name, .*such as 192\.0\.2\.53:853$/,
    ],
    [
      'an unknown method of Shadowsocks',
      shadowsocks('settings = { method = "aes-256-cfb", password = "p" }'),
      /unknown shadowsocks method$/,
      /^the methods are aes-128-gcm, .*2022-blake3-chacha20-poly1305$/,
    ],
    [
      'an unknown method of 2022',
      shadowsocks('settings = { method = "2022-blake3-aes", password = "p" }'),
      /unknown shadowsocks-2022 method$/,
      /^the methods are 2022-blake3-aes-128-gcm, [^,]*, [^,]*$/,
    ],
    [
      'a key that is not base64',
      shadowsocks('settings = { method = "2022-blake3-aes-128-gcm", password = "not a key" }'),
      /PSK is not valid base64$/,
      /^password has to be 16 random bytes in base64: openssl rand -base64 16$/,
    ],
    [
      'the key of the second user that is too short',
      shadowsocks(
        `settings = { method = "2022-blake3-aes-128-gcm", password = "${KEY_128}", users = [{ password = "${KEY_128}" }, { password = "AAAA" }] }`,
      ),
      /PSK too short$/,
      /^the password of user 2 has to be 16 random bytes/,
    ],
    [
      'the second key of a chain',
      outbound(
        `protocol = "shadowsocks"\nserver = "a"\nport = 1\nsettings = { method = "2022-blake3-aes-128-gcm", password = "${KEY_128}:x" }`,
      ),
      /PSK is not valid base64$/,
      /^part 2 of password, which ":" divides, has to be 16 random bytes in base64: copy it from the server$/,
    ],
    [
      'sni',
      outbound(
        'protocol = "trojan"\nserver = "a"\nport = 1\nsettings = { password = "p" }\nstream = { network = "tls", tls = { sni = "b" } }',
      ),
      /unknown field `sni`/,
      /^`sni` is called `server_name` here$/,
    ],
    [
      'flow',
      outbound(
        'protocol = "vless"\nserver = "a"\nport = 1\nsettings = { id = "b831381d-6324-4d53-ad4f-8cda48b30811", flow = "xtls-rprx-vision" }',
      ),
      /unknown field `flow`/,
      /^XTLS flows \(Vision\) are not supported: leave `flow` out/,
    ],
    [
      'a balancer in a balancer',
      `${outbound('protocol = "socks"\nserver = "a"\nport = 1')}
[[balancer]]
tag = "inner"
outbounds = ["out"]
[[balancer]]
tag = "outer"
outbounds = ["inner"]
`,
      /^balancer outer references unknown outbound tag: inner$/,
      /^"inner" is a balancer, and the members of a balancer are outbounds/,
    ],
    [
      'a geosite matcher without a file',
      rule('geosite = ["cn"]'),
      /^a geosite matcher is used but no geosite file is configured$/,
      /^\[route\]\.geosite names a geosite\.dat, which comes with Xray/,
    ],
    [
      'a geoip matcher without a file',
      rule('geoip = ["cn"]'),
      /^a geoip matcher is used but no geoip file is configured$/,
      /^\[route\]\.geoip names a geoip\.dat, which comes with Xray .* v2fly\/geoip /,
    ],
  ];

describe('a hint leads on from', () => {
  for (const [what, text, message, hint] of MISTAKES) {
    test(what, () => {
      const error = errorOf(text, '/etc/weir.toml');
      assert.match(error.message, message);
      const hints = configHints(error);
      assert.ok(
        hints.some((each) => hint.test(each)),
        JSON.stringify(hints),
      );
    });
  }

  for (const kind of ['geoip', 'geosite']) {
    test(`a ${kind} file that is not there`, async () => {
      const text = `[route]\n${kind} = "/nowhere/lists.dat"\n${rule(`${kind} = ["cn"]`)}`;
      const error = await loadErrorOf(text, fakeFiles(), '/etc/weir.toml');
      assert.match(error.message, /^cannot read \w+ file .*: no such file or directory$/);
      const names = `[route].${kind} names a ${kind}.dat, which comes with Xray`;
      const hints = configHints(error);
      assert.ok(
        hints.some((each) => each.startsWith(names)),
        JSON.stringify(hints),
      );
    });
  }

  test('a certificate and a key that do not belong together', () => {
    const one = new TestAuthority().issue({ dns: ['a.example'] });
    const other = new TestAuthority().issue({ dns: ['a.example'] });
    assert.throws(
      () => parseServerKey(Buffer.from(one.key), parseCertificateChain(Buffer.from(other.cert))),
      (error: unknown) =>
        error instanceof WeirError &&
        error.message === 'no private key assigned' &&
        /is not that of the first certificate/.test(error.hint ?? ''),
    );
  });
});

test('an error keeps its hints and its place on the way from another thread', () => {
  const text = inbound('protocol = "vless"\nport = 1\nsettings.user = []');
  const error = errorOf(text, '/etc/weir.toml');
  const arrived = deserializeError(structuredClone(serializeError(error)));
  assert.ok(arrived instanceof ConfigError);
  assert.equal(arrived.showsPlace, false);
  assert.deepEqual(configHints(arrived), configHints(error));
  assert.equal(configHints(error).length, 2);
});

describe('a file of another format is recognised:', () => {
  const files: readonly (readonly [what: string, format: string | undefined, text: string])[] = [
    ['JSON', 'json', '{\n  "inbounds": []\n}'],
    ['JSON with comments', 'json', '// mine\n{\n  "log": {}\n}'],
    ['JSON in a comment of its own kind', 'json', '/* mine */\n{}'],
    ['a list of JSON', 'json', '[\n  {"type": "direct"}\n]'],
    ['YAML', 'yaml', 'port: 7890\nproxies:\n  - name: a\n    type: ss\n'],
    ['YAML with a start', 'yaml', '---\nproxies: []\n'],
    ['a link', 'links', 'vless://0b1c@proxy.example:443?type=ws#name\n'],
    ['several links', 'links', '# mine\nss://YWVz@a:1#x\nhysteria2://p@b:2\n'],
    ['links in base64', 'links', Buffer.from('trojan://p@proxy.example:443\n').toString('base64')],
    [
      'WireGuard',
      'wireguard',
      '[Interface]\nPrivateKey = yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=\n',
    ],
    ['TOML with a mistake', undefined, '[[inbound]]\ntag = \n'],
    ['TOML with a colon', undefined, 'level: "info"\n[log]\nlevel = "info"\n'],
    ['prose', undefined, 'Dear reader,\n'],
    ['nothing', undefined, ''],
  ];
  for (const [what, format, text] of files) {
    test(what, () => {
      assert.equal(foreignFormat(text), format);
    });
  }

  test('the error of its text has the format', () => {
    assert.equal(errorOf('{}').format, 'json');
    assert.equal(errorOf('[log]\nlevel =').format, undefined);
  });

  test('the hint names `weir import` where that can read it', () => {
    assert.equal(
      foreignFormatHint('json', 'a.json', ['json']),
      'this looks like JSON, which sing-box and Xray are configured in; Weir reads TOML. `weir import a.json` makes a configuration of it',
    );
    assert.doesNotMatch(foreignFormatHint('yaml', 'a.yaml', ['json']), /weir import/);
    assert.doesNotMatch(foreignFormatHint('json', 'a.json', []), /weir import/);
  });
});
