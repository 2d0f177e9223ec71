import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ImportError } from '@weir/proxy/protocols/forms';
import { readForeign } from '../../../src/import/document.ts';
import { parseJson } from '../../../src/import/parse/json.ts';
import { linesOf } from '../../../../../test/support/import/support.ts';
import '../../../../../test/support/import/load-forms.ts';

const ID = 'b831381d-6324-4d53-ad4f-8cda48b30811';
const KEY = Buffer.alloc(32, 7).toString('base64');

const WIREGUARD = [
  'protocol = "wireguard"',
  '[outbound.settings]',
  `private_key = "${KEY}"`,
  `peer_public_key = "${KEY}"`,
  'endpoint = "2001:db8::1:51820"',
  'address = ["10.0.0.2", "fd00::2"]',
  'mtu = 1280',
  'keepalive = 25',
];

describe('a document', () => {
  test('of links in base64 is read', () => {
    const text = Buffer.from('\n# two\nsocks5://a:1\nsocks5://b:2\n').toString('base64');
    assert.deepEqual(
      readForeign(`${text.slice(0, 20)}\n${text.slice(20)}\n`).entries.map(
        (each) => each.draft?.server,
      ),
      ['a', 'b'],
    );
  });

  test('of JSON may have comments, and commas before the end', () => {
    const text = `{ // "comment"
      "outbounds": [ /* , ] */ { "type": "socks", "tag": "a//b", "server": "h", "server_port": 1, }, ], }`;
    const { kind, entries } = readForeign(text);
    assert.equal(kind, 'a configuration of sing-box');
    assert.equal(entries[0]?.draft?.name, 'a//b');
  });

  test('of sing-box has endpoints too, and no groups', () => {
    const peers = [
      { address: '2001:db8::1', port: 51820, public_key: KEY, persistent_keepalive_interval: 25 },
    ];
    const tunnel = { private_key: KEY, address: ['10.0.0.2/32', 'fd00::2/128'], mtu: 1280, peers };
    const { entries } = readForeign(
      JSON.stringify({
        outbounds: [{ type: 'selector', outbounds: ['w'] }],
        endpoints: [{ type: 'wireguard', tag: 'w', ...tunnel }],
      }),
    );
    assert.deepEqual(linesOf(entries), WIREGUARD);
  });

  test('of Xray may have one server in the settings themselves', () => {
    const settings = { address: 'h', port: 1, id: ID, encryption: 'none' };
    const { kind, entries } = readForeign(
      JSON.stringify({ outbounds: [{ protocol: 'vless', settings }, { protocol: 'dns' }] }),
    );
    assert.equal(kind, 'a configuration of Xray or v2ray');
    assert.deepEqual(linesOf(entries).at(-1), `id = "${ID}"`);
  });

  test('of Xray may have a tunnel', () => {
    const settings = {
      secretKey: KEY,
      address: ['10.0.0.2/32', 'fd00::2'],
      mtu: 1280,
      peers: [{ publicKey: KEY, endpoint: '[2001:db8::1]:51820', keepAlive: 25 }],
    };
    const { entries } = readForeign(
      JSON.stringify({ outbounds: [{ protocol: 'wireguard', settings }] }),
    );
    assert.deepEqual(linesOf(entries), WIREGUARD);
  });

  test('of wg-quick has one peer', () => {
    const peer = `[Peer]\nPublicKey = ${KEY}\nEndpoint = [2001:db8::1]:51820\nAllowedIPs = 0.0.0.0/0\n`;
    const own = `[Interface]\nPrivateKey=${KEY} # own\nAddress = 10.0.0.2/32\nAddress = fd00::2/128\nMTU = 1280\n`;
    const { entries } = readForeign(`${own}\n${peer}PersistentKeepalive = 25\n`);
    assert.deepEqual(linesOf(entries), WIREGUARD);
    assert.match(readForeign(`${own}${peer}${peer}`).entries[0]?.skipped ?? '', /more than one/);
  });

  test('of Clash is YAML', () => {
    const { kind, entries } = readForeign(`port: 7890
proxies:
  - { name: a, type: ss, server: h, port: 1, cipher: aes-128-gcm, password: 0123 }
  - name: b
    type: vmess
    server: h
    port: 443
    uuid: ${ID}
    alterId: 0
    cipher: auto
    tls: true
    servername: s
    skip-cert-verify: true
    network: ws
    ws-opts:
      path: /p
      headers: { Host: x }
      max-early-data: 2048
      early-data-header-name: Sec-WebSocket-Protocol
  - { name: c, type: vless, server: h, port: 1, uuid: ${ID}, reality-opts: {public-key: x}, tls: true }
  - { name: d, type: hysteria2, server: h, port: 1, password: p, obfs: salamander, obfs-password: abcd }
  - { name: e, type: trojan, server: h, port: 1, password: p, network: grpc, grpc-opts: { grpc-service-name: g } }
`);
    assert.equal(kind, 'a configuration of Clash or mihomo');
    const of = (index: number): string[] => linesOf(entries.slice(index, index + 1));
    assert.equal(of(0).at(-1), 'password = "0123"');
    assert.deepEqual(of(1).slice(3), [
      '[outbound.stream]',
      'network = "ws"',
      'security = "tls"',
      '[outbound.stream.tls]',
      'server_name = "s"',
      'allow_insecure = true',
      '[outbound.stream.ws]',
      'path = "/p?ed=2048"',
      'host = "x"',
      '[outbound.settings]',
      `id = "${ID}"`,
    ]);
    assert.match(of(2).join(''), /REALITY/);
    assert.equal(of(3).at(-1), 'obfs_password = "abcd"');
    assert.ok(of(4).includes('service_name = "g"'));
  });

  for (const [what, text, reason] of [
    ['that is empty', '', /neither/],
    ['of something else', '[[inbound]]\ntag = "a"\n', /neither/],
    ['of invalid JSON', '{ nonsense', /invalid JSON/],
    ['without outbounds', '{}', /without "outbounds"/],
    ['of invalid YAML', 'proxies: [\n', /invalid YAML at line/],
    [
      'that multiplies itself',
      `a: &a [${'x,'.repeat(9)}]\nb: &b [${'*a,'.repeat(9)}]
c: &c [${'*b,'.repeat(9)}]\nd: &d [${'*c,'.repeat(9)}]
e: &e [${'*d,'.repeat(9)}]\nf: &f [${'*e,'.repeat(9)}]\nproxies: [${'*f,'.repeat(9)}]\n`,
      /aliases/,
    ],
  ] as const) {
    test(`${what} is refused`, () => {
      assert.throws(
        () => readForeign(text),
        (error: unknown) => error instanceof ImportError && reason.test(error.message),
      );
    });
  }

  test('of JSON with millions of values is refused before they take memory', () => {
    assert.throws(() => readForeign(`{"outbounds":[${'1,'.repeat(3_000_000)}1]}`), {
      name: 'ImportError',
      message: 'JSON with more than 3000000 values',
    });
    // Only commas and brackets begin a value: this has half as many.
    const half = parseJson(`[${'1,'.repeat(1_600_000)}1]`);
    assert.ok(Array.isArray(half) && half.length === 1_600_001);
  });

  test('of YAML takes time that grows with its size alone', () => {
    // A library that compares all keys of a mapping with each other takes over a minute for these.
    const keys = Array.from({ length: 60_000 }, (_, i) => `key${i}: x\n`).join('');
    const { entries } = readForeign(
      `proxies:\n  - {name: a, type: socks5, server: h, port: 1}\n${keys}`,
    );
    assert.equal(entries[0]?.draft?.name, 'a');
  });

  test('of YAML may merge mappings', () => {
    const { entries } = readForeign(
      `base: &base {type: socks5, server: h, port: 1}\nproxies:\n  - {<<: *base, name: a}\n`,
    );
    assert.deepEqual(linesOf(entries), ['protocol = "socks"', 'server = "h"', 'port = 1']);
  });

  for (const [what, text] of [
    [
      'sing-box',
      '{"outbounds":[{"type":["x"],"tag":{}},7,"x",null,{"type":"socks","server":[]}, OK]}',
    ],
    ['Xray', '{"outbounds":[{"protocol":"socks","tag":[],"settings":7},{"protocol":{}}, OK]}'],
    ['Clash', 'proxies: [{name: [a], type: {}}, 7, {name: b, ws-opts: x, type: vless}, OK]'],
  ] as const) {
    test(`of ${what} with entries of other types gives those that are valid`, () => {
      const good =
        what === 'Xray'
          ? '{"protocol":"socks","tag":"ok","settings":{"address":"h","port":1}}'
          : what === 'Clash'
            ? '{name: ok, type: socks5, server: h, port: 1}'
            : '{"type":"socks","tag":"ok","server":"h","server_port":1}';
      const { entries } = readForeign(text.replace('OK', good));
      assert.deepEqual(
        entries.flatMap((each) => (each.draft ? [each.draft.name] : [])),
        ['ok'],
      );
      assert.ok(entries.length > 2 && entries.slice(0, -1).every((each) => each.skipped !== ''));
    });
  }
});
