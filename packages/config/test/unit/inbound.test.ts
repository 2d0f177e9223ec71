import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  DIRECT,
  inbound,
  inboundOf,
  specOf,
  refuses,
  type Row,
} from '../../../../test/support/config/support.ts';

const SOCKS = 'protocol = "socks"\n';
const HTTP = 'protocol = "http"\n';
const PORT = 'port = 1\n';

const INBOUND: readonly Row[] = [
  [
    'wireguard',
    inbound('protocol = "wireguard"'),
    'wireguard cannot be used as an inbound (no server implementation)',
    '6:12 (inbound in)',
  ],
  ['an unknown protocol', inbound('protocol = "sock"'), 'unknown protocol', '6:12 (inbound in)'],
  [
    'a protocol in another case',
    inbound('protocol = "SOCKS"'),
    'unknown protocol',
    '6:12 (inbound in)',
  ],
  [
    'a protocol for outbounds only',
    inbound('protocol = "freedom"'),
    'unknown protocol',
    '6:12 (inbound in)',
  ],
  ['no port', inbound(SOCKS), 'port is required', '4:1 (inbound in)'],
  ['no port at an IP', inbound(`${SOCKS}listen = "::"`), 'port is required', '4:1 (inbound in)'],
  [
    'no port at a name',
    inbound(`${SOCKS}listen = "localhost"`),
    'port is required',
    '4:1 (inbound in)',
  ],
  [
    'a port of a unix socket',
    inbound(`${HTTP}${PORT}listen = "/run/weir.sock"`),
    'a unix socket listen has no port; remove port',
    '7:8 (inbound in)',
  ],
  [
    'an abstract socket',
    inbound(`${SOCKS}listen = "@weir"`),
    'inbound in: listen "@weir" is an abstract socket, which is not supported; a unix socket is a path that starts with /',
    '7:10 (inbound in)',
  ],
  [
    'an address in brackets',
    inbound(`${SOCKS}${PORT}listen = "[::1]"`),
    'inbound in: listen "[::1]" has brackets; write the IPv6 address without them',
    '8:10 (inbound in)',
  ],
  [
    'an address with a port',
    inbound(`${SOCKS}listen = "127.0.0.1:1080"`),
    'inbound in: listen "127.0.0.1:1080" has a port, which belongs in port',
    '7:10 (inbound in)',
  ],
  [
    'an empty address',
    inbound(`${SOCKS}${PORT}listen = ""`),
    'inbound in: listen "" is empty',
    '8:10 (inbound in)',
  ],
  [
    'an invalid address',
    inbound(`${SOCKS}${PORT}listen = "run/weir.sock"`),
    'inbound in: listen "run/weir.sock" is neither an IP address nor a host name',
    '8:10 (inbound in)',
  ],
];

const INBOUND_SETTINGS: readonly Row[] = [
  [
    'a password of trojan that stands outside its users',
    inbound(`protocol = "trojan"\n${PORT}settings.password = "p"`),
    'inbound in: invalid settings: unknown field `password`, expected `users`',
    '8:10 (inbound in)',
  ],
  [
    'an id of vless that is no UUID',
    inbound(`protocol = "vless"\n${PORT}settings.users = [{ id = "mia" }]`),
    'inbound in: invalid settings: invalid uuid',
    '8:26 (inbound in)',
  ],
  [
    'an unknown key of socks',
    inbound(`${SOCKS}${PORT}settings.user = "u"`),
    'inbound in: invalid settings: unknown field `user`, expected one of `auth`, `accounts`, `udp`, `udp_bind`',
    '8:10 (inbound in)',
  ],
  [
    'an unknown authentication',
    inbound(`${SOCKS}${PORT}[inbound.settings]\nauth = "Password"`),
    'inbound in: invalid settings: unknown socks auth',
    '9:8 (inbound in)',
  ],
  [
    'an invalid VMess id, which is reported without "invalid settings"',
    inbound(`protocol = "vmess"\n${PORT}settings.users = [{ id = "a\\"b" }]`),
    'inbound in: invalid uuid "a\\"b"',
    '8:26 (inbound in)',
  ],
  [
    'the users of other programs',
    inbound(`protocol = "vmess"\n${PORT}settings.clients = []`),
    'inbound in: invalid settings: unknown field `clients`, expected `users`',
    '8:10 (inbound in)',
  ],
  [
    'an account without a password',
    inbound(`${SOCKS}${PORT}settings.accounts = [{ user = "u" }]`),
    'inbound in: invalid settings: missing field `pass`',
    '8:22 (inbound in)',
  ],
  [
    'an account without a user',
    inbound(`${HTTP}${PORT}settings.accounts = [{ pass = "p" }]`),
    'inbound in: invalid settings: missing field `user`',
    '8:22 (inbound in)',
  ],
  [
    'an account with more than that',
    inbound(`${SOCKS}${PORT}settings.accounts = [{ user = "u", pass = "p", email = "" }]`),
    'inbound in: invalid settings: unknown field `email`, expected `user` or `pass`',
    '8:48 (inbound in)',
  ],
  [
    'a password that is a number, which is not shown',
    inbound(`${SOCKS}${PORT}settings.accounts = [{ user = "u", pass = 1234 }]`),
    'inbound in: invalid settings: invalid type: integer, expected a string',
    '8:43 (inbound in)',
  ],
  [
    'a host name to bind datagrams to',
    inbound(`${SOCKS}${PORT}settings.udp_bind = "localhost"`),
    'inbound in: invalid settings: invalid IP address syntax',
    '8:21 (inbound in)',
  ],
  [
    'datagrams of a unix socket without an address to bind them to',
    inbound(`${SOCKS}listen = "/run/weir.sock"`),
    'inbound in: invalid settings: udp_bind is required when listen is a unix socket and udp is true; set it, or udp = false',
    '4:1 (inbound in)',
  ],
  [
    'a colon in the user of an HTTP account',
    inbound(`${HTTP}${PORT}settings.accounts = [{ user = "a:b", pass = "p" }]`),
    'inbound in: invalid settings: an account user may not contain `:`',
    '8:31 (inbound in)',
  ],
  [
    'an unknown key of http',
    inbound(`${HTTP}${PORT}settings.timeout = 1`),
    'inbound in: invalid settings: unknown field `timeout`, expected `accounts` or `allow_transparent`',
    '8:10 (inbound in)',
  ],
  [
    'a wrong type',
    inbound(`${HTTP}${PORT}settings.allow_transparent = "yes"`),
    'inbound in: invalid settings: invalid type: string "yes", expected a boolean',
    '8:30 (inbound in)',
  ],
];

describe('an inbound is refused for', () => refuses(INBOUND));
describe('settings of an inbound are refused for', () => refuses(INBOUND_SETTINGS));

describe('an inbound', () => {
  test('listens on loopback and sniffs when nothing else is said', () => {
    assert.deepEqual(inboundOf('protocol = "http"\nport = 0'), {
      tag: 'in',
      protocol: 'http',
      listen: { kind: 'ip', host: '127.0.0.1', port: 0 },
      stream: undefined,
      sniffing: true,
      settings: { accounts: [], allowTransparent: false },
    });
  });

  test('listens on an address, at a name or on a unix socket', () => {
    const listenOf = (lines: string): unknown => inboundOf(`protocol = "http"\n${lines}`).listen;
    assert.deepEqual(listenOf('listen = "::"\nport = 65535'), {
      kind: 'ip',
      host: '::',
      port: 65_535,
    });
    assert.deepEqual(listenOf('listen = "proxy.lan"\nport = 8080'), {
      kind: 'name',
      host: 'proxy.lan',
      port: 8080,
    });
    assert.deepEqual(listenOf('listen = "/run/weir.sock"'), {
      kind: 'unix',
      path: '/run/weir.sock',
    });
  });

  test('may switch sniffing off', () => {
    assert.equal(inboundOf('protocol = "socks"\nport = 1\nsniffing = false').sniffing, false);
  });

  test('may name any address family, which has no effect', () => {
    const lines = 'protocol = "socks"\nport = 1\n';
    assert.deepEqual(inboundOf(`${lines}address_family = "ipv5"`), inboundOf(lines));
  });

  test('may say that it has no stream', () => {
    for (const stream of ['{}', '{ network = "tcp" }', '{ network = "", security = "" }']) {
      inboundOf(`protocol = "socks"\nport = 1\nstream = ${stream}`);
    }
    inboundOf('protocol = "http"\nport = 1\nstream = { network = "tcp", security = " none " }');
  });

  test('need not be there', () => {
    assert.deepEqual(specOf(DIRECT).inbounds, []);
  });

  test('may have the tag of an outbound', () => {
    const text = `${DIRECT}[[inbound]]\ntag = "direct"\nprotocol = "socks"\nport = 1`;
    assert.equal(specOf(text).inbounds[0]?.tag, 'direct');
  });
});
