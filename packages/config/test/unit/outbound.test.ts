import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  inbound,
  outbound,
  outboundOf,
  refuses,
  type Row,
} from '../../../../test/support/config/support.ts';

const SOCKS = 'protocol = "socks"\n';
const HTTP = 'protocol = "http"\n';
const PORT = 'port = 1\n';
const UPSTREAM = 'server = "proxy.example"\nport = 1080\n';
const socksOut = (lines: string): string => outbound(SOCKS + UPSTREAM + lines);

const OUTBOUND: readonly Row[] = [
  [
    'an unknown protocol',
    outbound('protocol = "Socks"'),
    'unknown protocol',
    '3:12 (outbound out)',
  ],
  [
    'a protocol that only comes in',
    outbound('protocol = "tun"'),
    'unknown protocol',
    '3:12 (outbound out)',
  ],
  ['no server', outbound(`${SOCKS}port = 1`), 'missing server', '1:1 (outbound out)'],
  ['no server and no port', outbound(HTTP), 'missing server', '1:1 (outbound out)'],
  ['no port', outbound(`${HTTP}server = "a"`), 'missing port', '1:1 (outbound out)'],
  [
    'a server in brackets',
    outbound(`${HTTP}port = 1\nserver = "[::1]"`),
    'outbound out: server "[::1]" has brackets; write the IPv6 address without them',
    '5:10 (outbound out)',
  ],
  [
    'a server with a port',
    outbound(`${HTTP}server = "a:80"`),
    'outbound out: server "a:80" has a port, which belongs in port',
    '4:10 (outbound out)',
  ],
  [
    'an unknown family',
    socksOut('address_family = "ipv5"'),
    'invalid address_family',
    '6:18 (outbound out)',
  ],
  [
    'an empty family',
    socksOut('address_family = ""'),
    'invalid address_family',
    '6:18 (outbound out)',
  ],
  [
    'a family that freedom does not know either',
    outbound('protocol = "direct"\naddress_family = "both"'),
    'invalid address_family',
    '4:18 (outbound out)',
  ],
  ['no server for vless', outbound('protocol = "vless"'), 'missing server', '1:1 (outbound out)'],
  [
    'no password for trojan',
    outbound('protocol = "trojan"\nserver = "a"\nport = 1'),
    'outbound out: invalid settings: missing field `password`',
    '1:1 (outbound out)',
  ],
  [
    'no id for vless',
    outbound('protocol = "vless"\nserver = "a"\nport = 1'),
    'outbound out: invalid settings: missing field `id`',
    '1:1 (outbound out)',
  ],
  [
    'an unknown key of socks',
    socksOut('settings.username = "u"'),
    'outbound out: invalid settings: unknown field `username`, expected `user` or `pass`',
    '6:10 (outbound out)',
  ],
  [
    'an unknown key of http',
    outbound(`${HTTP}${UPSTREAM}settings = { user = "u", tls = true }`),
    'outbound out: invalid settings: unknown field `tls`, expected `user` or `pass`',
    '6:26 (outbound out)',
  ],
  [
    'a password that is a date, which is not shown',
    socksOut('settings.pass = 1979-05-27'),
    'outbound out: invalid settings: invalid type: datetime, expected a string',
    '6:17 (outbound out)',
  ],
];

const VMESS = 'protocol = "vmess"\n';
const VMESS_ID = 'settings.id = "de305d54-75b4-431b-adb2-eb6b9e546014"\n';

const VMESS_SETTINGS: readonly Row[] = [
  [
    'no id',
    outbound(VMESS + UPSTREAM),
    'outbound out: invalid settings: missing field `id`',
    '1:1 (outbound out)',
  ],
  [
    'an invalid id',
    outbound(`${VMESS}${UPSTREAM}settings.id = "me"`),
    'outbound out: invalid uuid "me"',
    '6:15 (outbound out)',
  ],
  [
    'a cipher that protects nothing',
    outbound(`${VMESS}${UPSTREAM}${VMESS_ID}settings.security = "none"`),
    'outbound out: invalid settings: unknown vmess security',
    '7:21 (outbound out)',
  ],
  ['no server', outbound(`${VMESS}port = 1\n${VMESS_ID}`), 'missing server', '1:1 (outbound out)'],
  [
    'no port',
    outbound(`${VMESS}server = "proxy.example"\n${VMESS_ID}`),
    'missing port',
    '1:1 (outbound out)',
  ],
];

const STREAM: readonly Row[] = [
  [
    'an unknown network',
    socksOut('stream.network = "quic"'),
    'unknown stream network',
    '6:18 (outbound out)',
  ],
  [
    'a network in upper case',
    socksOut('stream.network = "WS"'),
    'unknown stream network',
    '6:18 (outbound out)',
  ],
  [
    'a network after a space',
    socksOut('stream.network = " ws"'),
    'unknown stream network',
    '6:18 (outbound out)',
  ],
  [
    'an empty network',
    socksOut('stream.network = ""'),
    'unknown stream network',
    '6:18 (outbound out)',
  ],
  [
    'an unknown network of freedom',
    outbound('protocol = "freedom"\nstream.network = "quic"'),
    'unknown stream network',
    '4:18 (outbound out)',
  ],
  [
    'a network below freedom',
    outbound('protocol = "direct"\nstream.network = "ws"'),
    'protocol direct takes no stream, so network must be tcp',
    '4:18 (outbound out)',
  ],
  [
    'a security below blackhole',
    outbound('protocol = "blackhole"\nstream.security = "tls"'),
    'protocol blackhole takes no stream, so security must be none',
    '4:19 (outbound out)',
  ],
  [
    'a network below a SOCKS inbound',
    inbound(`${SOCKS}${PORT}stream = { network = "tls" }`),
    'protocol socks takes no stream, so network must be tcp',
    '8:22 (inbound in)',
  ],
  [
    'a network on a unix socket',
    inbound(`${HTTP}listen = "/run/weir.sock"\nstream.network = "ws"`),
    'a stream needs listen to be an IP address, so network must be tcp',
    '8:18 (inbound in)',
  ],
  [
    'a security at a host name',
    inbound(`${HTTP}${PORT}listen = "localhost"\nstream.security = "tls"`),
    'a stream needs listen to be an IP address, so security must be none',
    '9:19 (inbound in)',
  ],
  [
    'an unknown security',
    socksOut('stream.security = "xtls"'),
    'unknown stream security xtls (expected tls or none)',
    '6:19 (outbound out)',
  ],
  [
    'a security in upper case',
    inbound(`${HTTP}${PORT}stream.security = "TLS"`),
    'unknown stream security TLS (expected tls or none)',
    '8:19 (inbound in)',
  ],
  [
    'TLS below plain TCP',
    socksOut('stream = { network = "tcp", security = " tls " }'),
    'stream security tls needs network ws or grpc; for TLS itself write network = tls instead',
    '6:40 (outbound out)',
  ],
];

describe('an outbound is refused for', () => refuses(OUTBOUND));
describe('a VMess outbound is refused for', () => refuses(VMESS_SETTINGS));
describe('a stream is refused for', () => refuses(STREAM));

describe('an outbound', () => {
  test('has its defaults filled in', () => {
    assert.deepEqual(outboundOf(`protocol = "socks"\n${UPSTREAM}`), {
      tag: 'out',
      protocol: 'socks',
      server: 'proxy.example',
      port: 1080,
      stream: undefined,
      addressFamily: 'auto',
      settings: { account: undefined },
    });
  });

  test('may go by an alias, and is known by its name', () => {
    assert.equal(outboundOf('protocol = "direct"').protocol, 'freedom');
    assert.equal(outboundOf('protocol = "block"').protocol, 'blackhole');
  });

  test('without an upstream looks at neither its server nor its settings', () => {
    const { server, port, settings } = outboundOf(
      'protocol = "freedom"\nserver = "[probe]:1"\nport = 80\nsettings = { any = ["thing"] }',
    );
    assert.deepEqual(
      { server, port, settings },
      { server: '[probe]:1', port: 80, settings: undefined },
    );
  });

  test('ignores the details of streams that it has not', () => {
    outboundOf('protocol = "freedom"\nstream = { network = "", tls = { server_name = "x" } }');
    outboundOf(`protocol = "http"\n${UPSTREAM}stream = { ws = { path = "/x" } }`);
  });

  test('may have its server in IPv6', () => {
    assert.equal(
      outboundOf('protocol = "http"\nport = 1\nserver = "2001:db8::1"').server,
      '2001:db8::1',
    );
  });

  const SPELLINGS: readonly [string, string][] = [
    ['auto', 'auto'],
    [' Auto ', 'auto'],
    ['ipv4_only', 'ipv4_only'],
    ['IPv4-Only', 'ipv4_only'],
    ['v4', 'ipv4_only'],
    ['ipv6_only', 'ipv6_only'],
    ['ipv6', 'ipv6_only'],
    ['prefer_ipv4', 'prefer_ipv4'],
    ['PREFER-V4', 'prefer_ipv4'],
    ['prefer_ipv6', 'prefer_ipv6'],
    ['v6-first', 'prefer_ipv6'],
  ];
  for (const [written, policy] of SPELLINGS) {
    test(`knows the address family ${JSON.stringify(written)} as ${policy}`, () => {
      const lines = `protocol = "freedom"\naddress_family = "${written}"`;
      assert.equal(outboundOf(lines).addressFamily, policy);
    });
  }
});
