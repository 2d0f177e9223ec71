import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readForeign } from '../../../src/import/document.ts';
import { readShareLinks } from '../../../src/import/links/share-links.ts';
import { linesOf } from '../../../../../test/support/import/support.ts';
import '../../../../../test/support/import/load-forms.ts';

const ID = 'b831381d-6324-4d53-ad4f-8cda48b30811';
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const vmess = (fields: object): string => `vmess://${base64(JSON.stringify(fields))}`;
const VMESS = { v: '2', ps: 'n', add: 'a.example', port: '443', id: ID, aid: '0', net: 'tcp' };

const place = (protocol: string, port = 443): string[] => [
  `protocol = "${protocol}"`,
  'server = "a.example"',
  `port = ${port}`,
];

describe('a share link', () => {
  for (const [what, link, lines] of [
    [
      'of VLESS without TLS',
      `vless://${ID}@a.example:443?encryption=none#n`,
      [...place('vless'), '[outbound.settings]', `id = "${ID}"`],
    ],
    [
      'of VLESS over TLS',
      `vless://${ID}@a.example:443?security=tls&sni=b.example&fp=chrome`,
      [
        ...place('vless'),
        '[outbound.stream]',
        'network = "tls"',
        '[outbound.stream.tls]',
        'server_name = "b.example"',
        '[outbound.settings]',
        `id = "${ID}"`,
      ],
    ],
    [
      'of VLESS over gRPC',
      `vless://${ID}@a.example:443?type=grpc&serviceName=s&authority=c.example`,
      [
        ...place('vless'),
        '[outbound.stream]',
        'network = "grpc"',
        '[outbound.stream.grpc]',
        'service_name = "s"',
        'authority = "c.example"',
        '[outbound.settings]',
        `id = "${ID}"`,
      ],
    ],
    [
      'of Trojan, which has TLS unless it says otherwise',
      'trojan://p%40%22@a.example:443',
      [
        ...place('trojan'),
        '[outbound.stream]',
        'network = "tls"',
        '[outbound.settings]',
        String.raw`password = "p@\""`,
      ],
    ],
    [
      'of Trojan without TLS',
      'trojan://pw@a.example:80?security=none',
      [...place('trojan', 80), '[outbound.settings]', 'password = "pw"'],
    ],
    [
      'of VMess as JSON over WebSocket',
      vmess({ ...VMESS, net: 'ws', path: '/w', host: 'h', tls: 'tls' }),
      [
        ...place('vmess'),
        '[outbound.stream]',
        'network = "ws"',
        'security = "tls"',
        '[outbound.stream.tls]',
        'server_name = "h"',
        '[outbound.stream.ws]',
        'path = "/w"',
        'host = "h"',
        '[outbound.settings]',
        `id = "${ID}"`,
      ],
    ],
    [
      'of VMess as JSON with a port that is a number',
      vmess({ ...VMESS, port: 443, scy: 'chacha20-poly1305' }),
      [...place('vmess'), '[outbound.settings]', `id = "${ID}"`, 'security = "chacha20-poly1305"'],
    ],
    [
      'of VMess in the form of VLESS',
      `vmess://${ID}@a.example:443?encryption=auto`,
      [...place('vmess'), '[outbound.settings]', `id = "${ID}"`],
    ],
    [
      'of VMess without encryption, which Weir adds',
      vmess({ ...VMESS, scy: 'zero' }),
      [...place('vmess'), '[outbound.settings]', `id = "${ID}"`],
    ],
    [
      'of Shadowsocks after SIP002',
      `ss://${base64('aes-128-gcm:p:w')}@a.example:443/#x`,
      [
        ...place('shadowsocks'),
        '[outbound.settings]',
        'method = "aes-128-gcm"',
        'password = "p:w"',
      ],
    ],
    [
      'of Shadowsocks 2022 in percent-encoding',
      'ss://2022-blake3-aes-128-gcm:YQ%3D%3D:Yg%3D%3D@a.example:443',
      [
        ...place('shadowsocks'),
        '[outbound.settings]',
        'method = "2022-blake3-aes-128-gcm"',
        'password = "YQ==:Yg=="',
      ],
    ],
    [
      'of Shadowsocks in base64 as a whole',
      `ss://${base64('aes-256-gcm:p@w@a.example:443')}#x`,
      [
        ...place('shadowsocks'),
        '[outbound.settings]',
        'method = "aes-256-gcm"',
        'password = "p@w"',
      ],
    ],
    [
      'of Hysteria 2',
      'hy2://u:p@a.example:443?sni=b&obfs=salamander&obfs-password=abcd&insecure=1',
      [
        ...place('hysteria2'),
        '[outbound.settings]',
        'password = "u:p"',
        'server_name = "b"',
        'allow_insecure = true',
        'obfs = "salamander"',
        'obfs_password = "abcd"',
      ],
    ],
    [
      'of Hysteria 2 by its long name',
      'hysteria2://p@a.example:443',
      [...place('hysteria2'), '[outbound.settings]', 'password = "p"'],
    ],
    [
      'of VMess as JSON over gRPC with TLS, with white space around it',
      `vmess://${base64(`\n ${JSON.stringify({ ...VMESS, net: 'grpc', type: 'gun', path: 's', host: 'h', tls: 'tls', sni: 'b', insecure: '1' })}`)} #x`,
      [
        ...place('vmess'),
        '[outbound.stream]',
        'network = "grpc"',
        'security = "tls"',
        '[outbound.stream.tls]',
        'server_name = "b"',
        'allow_insecure = true',
        '[outbound.stream.grpc]',
        'service_name = "s"',
        'authority = "h"',
        '[outbound.settings]',
        `id = "${ID}"`,
      ],
    ],
    [
      'of VMess as JSON over gRPC with an authority',
      vmess({ ...VMESS, net: 'grpc', path: 's', host: 'h', authority: 'c', tls: 'none' }),
      [
        ...place('vmess'),
        '[outbound.stream]',
        'network = "grpc"',
        '[outbound.stream.grpc]',
        'service_name = "s"',
        'authority = "c"',
        '[outbound.settings]',
        `id = "${ID}"`,
      ],
    ],
    [
      'of VMess as JSON with what means nothing',
      vmess({ ...VMESS, type: 'none', tls: '' }),
      [...place('vmess'), '[outbound.settings]', `id = "${ID}"`],
    ],
    [
      'of VMess in the form of VLESS with a cipher',
      `vmess://${ID}@a.example:443?encryption=chacha20-poly1305&aid=0`,
      [...place('vmess'), '[outbound.settings]', `id = "${ID}"`, 'security = "chacha20-poly1305"'],
    ],
    [
      'of VMess in the form of VLESS with a cipher under another name',
      `vmess://${ID}@a.example:443?scy=chacha20-poly1305&alterId=0`,
      [...place('vmess'), '[outbound.settings]', `id = "${ID}"`, 'security = "chacha20-poly1305"'],
    ],
    [
      'of SOCKS with credentials',
      `socks://${base64('mia:s3cret')}@a.example:443`,
      [...place('socks'), '[outbound.settings]', 'user = "mia"', 'pass = "s3cret"'],
    ],
    [
      'of SOCKS with credentials whose base64 has a slash',
      `socks://${base64('mia:s3cr?')}@a.example:443`,
      [...place('socks'), '[outbound.settings]', 'user = "mia"', 'pass = "s3cr?"'],
    ],
    [
      'of SOCKS with credentials in percent-encoding',
      'socks5h://m%3Aia:s%403cret@a.example:443',
      [...place('socks'), '[outbound.settings]', 'user = "m:ia"', 'pass = "s@3cret"'],
    ],
    [
      'of SOCKS in base64 as a whole, as Shadowrocket writes it',
      `socks://${base64('mia:s@3cret@a.example:443')}?remarks=n`,
      [...place('socks'), '[outbound.settings]', 'user = "mia"', 'pass = "s@3cret"'],
    ],
    [
      'of SOCKS with a user alone',
      'socks://bWlh@a.example:443',
      [...place('socks'), '[outbound.settings]', 'user = "bWlh"'],
    ],
    [
      'of HTTP',
      'http://mia:p%40ss@a.example:443#n',
      [...place('http'), '[outbound.settings]', 'user = "mia"', 'pass = "p@ss"'],
    ],
    [
      'of HTTP over TLS',
      'https://a.example:443?sni=b.example&allowInsecure=1#n',
      [
        ...place('http'),
        '[outbound.stream]',
        'network = "tls"',
        '[outbound.stream.tls]',
        'server_name = "b.example"',
        'allow_insecure = true',
      ],
    ],
    ['of SOCKS without credentials', 'socks5://a.example:443', place('socks')],
    [
      'with an IPv6 address',
      'socks5://[2001:db8::1]:443',
      ['protocol = "socks"', 'server = "2001:db8::1"', 'port = 443'],
    ],
  ] as const) {
    test(`${what} is an outbound`, () =>
      assert.deepEqual(linesOf(readShareLinks(link).entries), lines));
  }

  for (const [what, link, reason] of [
    [
      'with REALITY',
      `vless://${ID}@a:1?security=reality`,
      /the security "reality" is not supported/,
    ],
    ['with a flow', `vless://${ID}@a:1?flow=xtls-rprx-vision`, /flow "xtls-rprx-vision"/],
    ['over KCP', `vless://${ID}@a:1?type=kcp`, /transport "kcp"/],
    ['with an HTTP header', `vless://${ID}@a:1?headerType=http`, /header type "http"/],
    ['over gRPC without a service', `vless://${ID}@a:1?type=grpc`, /without a service name/],
    ['with an alterId', vmess({ ...VMESS, aid: 64 }), /alterId/],
    ['with an unknown cipher', vmess({ ...VMESS, scy: 'aes-128-cfb' }), /security "aes-128-cfb"/],
    ['with invalid JSON', `vmess://${base64('{nonsense')}`, /JSON is invalid/],
    ['with a plugin', 'ss://YTpi@a:1?plugin=v2ray-plugin%3Btls', /plugin "v2ray-plugin"/],
    ['without a method', 'ss://@a:1', /no method and password/],
    ['with several ports', 'hy2://p@a:1,5-9', /port hopping/],
    ['to a document', 'https://a.example:443/sub', /address of a document/],
    ['of an HTTP proxy without a port', 'http://u:p@a.example', /no port/],
    ['of VLESS with encryption', `vless://${ID}@a:1?encryption=mlkem768x25519plus`, /encryption/],
    ['of VMess with an alterId', `vmess://${ID}@a:1?alterId=4`, /alterId/],
    ['of VMess with an aid', `vmess://${ID}@a:1?aid=4`, /alterId/],
    ['of VMess as JSON with a header', vmess({ ...VMESS, type: 'http' }), /header type "http"/],
    ['of VMess as JSON with XTLS', vmess({ ...VMESS, tls: 'xtls' }), /security "xtls"/],
    ['of VMess in base64 that is no JSON', `vmess://${base64('auto:id')}`, /no port/],
    ['of Shadowsocks in base64 without a host', `ss://${base64('rc4:pw')}`, /neither SIP002 nor/],
    ['of Shadowsocks that is no base64', 'ss://a:b', /neither SIP002 nor base64/],
    ['of Shadowsocks in base64 without a login', `ss://${base64('@a:1')}`, /no method and/],
    ['of a text before a link', 'see vless://x', /not a share link/],
    ['of VLESS without an id', 'vless://a:1', /^it has no id$/],
    ['of VMess without an id', 'vmess://a.example:1', /^it has no id$/],
    ['of Hysteria 2 without a password', 'hy2://a:1', /^it has no password$/],
    ['of SOCKS 4', 'socks4://a:1', /socks4 links are not supported/],
    ['without a port', 'trojan://p@a', /no port/],
    ['with a port that is too large', 'trojan://p@a:65536', /port is not a number/],
    ['without a host', 'trojan://p@:1', /no host/],
    ['without a password', 'trojan://a:1', /no password/],
    ['of a protocol that Weir has not', 'tuic://a:1', /tuic links are not supported/],
    ['that is none', 'nonsense', /not a share link/],
  ] as const) {
    test(`${what} is left out with the reason`, () =>
      assert.match(readShareLinks(link).entries[0]?.skipped ?? '', reason));
  }

  test('of VMess without encryption says which cipher is used', () =>
    assert.deepEqual(readShareLinks(vmess({ ...VMESS, scy: 'none' })).entries[0]?.draft?.notes, [
      'the cipher "none" becomes aes-128-gcm, which servers take too',
    ]));

  test('has its name behind the number sign', () => {
    const [entry, skipped] = readShareLinks(`socks5://a:1#Caf%C3%A9%20%231\ntuic://a:1#b%`).entries;
    assert.equal(entry?.draft?.name, 'Café #1');
    assert.deepEqual(skipped, { name: 'b%', skipped: 'tuic links are not supported' });
  });

  test('has its name in each of its forms', () => {
    for (const [link, name] of [
      [vmess({ ...VMESS, ps: 'Café' }), 'Café'],
      [vmess({ ...VMESS, ps: undefined }), ''],
      [`ss://${base64('aes-256-gcm:p@a.example:443')}#a#b`, 'a#b'],
      [`ss://${base64('aes-256-gcm:p@a.example:443')}`, ''],
    ] as const) {
      assert.equal(readShareLinks(link).entries[0]?.draft?.name, name);
    }
  });

  test('that is left out has no name when none is written: what stands there may be secret', () => {
    const { entries } = readShareLinks('tuic://secret@a:1');
    assert.deepEqual(entries, [{ name: '', skipped: 'tuic links are not supported' }]);
  });

  test('names a server by a parameter where it has no number sign', () =>
    assert.equal(readShareLinks('socks5://a:1?remarks=n').entries[0]?.draft?.name, 'n'));
});

describe('a document that begins with a URI', () => {
  for (const [what, text] of [
    ['links of HTTP proxies alone', 'http://a.example:8080#n'],
    ['a link that Weir cannot use before one that it can', 'tuic://a:1\nsocks5://a:1'],
    ['an address before a link', 'https://a.example/sub\nsocks5://a:1'],
    ['links of HTTP proxies in base64', base64('https://u:p@a.example:8443#n')],
  ] as const) {
    test(`is a list of links: ${what}`, () => assert.equal(readForeign(text).kind, 'share links'));
  }

  test('is none without a link to a server', () =>
    assert.throws(() => readForeign('https://a.example/sub?token=1'), /neither share links/));
});

describe('a link in base64', () => {
  for (const [what, link, password, name] of [
    ['has a slash', `ss://${base64('aes-256-gcm:ab?@a.test:8388')}#n`, 'ab?', 'n'],
    ['has slashes, and a path', `ss://${base64('aes-256-gcm:???@a.test:8388')}/#n`, '???', 'n'],
    ['has a name with @', `ss://${base64('aes-256-gcm:x@a.test:8388')}#@n/@m`, 'x', '@n/@m'],
    ['has a parameter with @', `ss://${base64('aes-256-gcm:x@a.test:8388')}?a=b@c#n`, 'x', 'n'],
    [
      'is percent-encoded',
      `ss://${encodeURIComponent(base64('aes-256-gcm:a??b@a.test:8388'))}`,
      'a??b',
      '',
    ],
    [
      'has characters beyond ASCII',
      `ss://${base64('aes-256-gcm:пароль???@a.test:8388')}`,
      'пароль???',
      '',
    ],
  ] as const) {
    test(`${what}: ss`, () => {
      const [entry] = readShareLinks(link).entries;
      assert.equal(entry?.skipped, undefined);
      assert.deepEqual(
        [entry?.draft?.server, entry?.draft?.port, entry?.draft?.settings['password']],
        ['a.test', 8388, password],
      );
      assert.equal(entry?.draft?.name, name);
    });

    test(`${what}: socks`, () => {
      const login = link.replace('ss://', 'socks://');
      const [entry] = readShareLinks(login).entries;
      assert.deepEqual(
        [entry?.draft?.server, entry?.draft?.settings['user'], entry?.draft?.settings['pass']],
        ['a.test', 'aes-256-gcm', password],
      );
      assert.equal(entry?.draft?.name, name);
    });
  }
});

test('a link of Hysteria 2 has port 443 where it names none', () => {
  for (const place of [
    'h.test/',
    'h.test',
    '[2001:db8::1]',
    '[2001:db8::1]:',
    'h.test:/',
    'h.test:443',
  ]) {
    const [entry] = readShareLinks(`hysteria2://pw@${place}?sni=a.test#a`).entries;
    assert.equal(entry?.draft?.port, 443, place);
    assert.match(entry.draft.server ?? '', /^(?:h\.test|2001:db8::1)$/);
  }
  for (const place of ['h.test:0', 'h.test:x', 'h.test:70000', 'h.test:443,5000-6000']) {
    assert.notEqual(readShareLinks(`hy2://pw@${place}`).entries[0]?.skipped, undefined);
  }
});

describe('a list with lines that are no links', () => {
  const node = 'trojan://x@a.example:443#Osaka';

  for (const [what, text, names] of [
    [
      'in front',
      `STATUS=↑ 1 GB, Expires 2027-01-01\nREMARKS=x\n${node}`,
      ['line 1', 'line 2', 'Osaka'],
    ],
    ['in front, with empty lines', `\n \nWelcome!\n\n${node}`, ['line 1', 'Osaka']],
    ['between', `${node}\n{"a": 1}\n${node}`, ['Osaka', 'line 2', 'Osaka']],
    ['behind', `${node}\r\n-- \r\nend`, ['Osaka', 'line 2', 'line 3']],
    ['in base64', base64(`Welcome!\n${node}\n`), ['line 1', 'Osaka']],
    ['in front of base64', `# profile-title: x\n${base64(node)}\n`, ['Osaka']],
  ] as const) {
    test(`has the others: ${what}`, () => {
      const { kind, entries } = readForeign(text);
      assert.equal(kind, 'share links');
      assert.deepEqual(
        entries.map(({ draft, ...entry }) => draft?.name ?? ('name' in entry ? entry.name : '')),
        names,
      );
      const reasons = new Set(entries.flatMap(({ skipped }) => skipped ?? []));
      assert.deepEqual([...reasons], what === 'in front of base64' ? [] : ['not a share link']);
    });
  }

  test('is none where a text has the URL of a page alone', () =>
    assert.throws(
      () => readForeign('Your subscription has expired.\nhttps://panel.example:8443\n'),
      /neither share links/,
    ));
});

describe('broken UTF-8', () => {
  const flag = Buffer.from('🇯🇵').subarray(0, 3);
  const list = Buffer.concat([
    Buffer.from('trojan://x@a.example:443#A\ntrojan://x@b.example:443#'),
    flag,
    Buffer.from(' B\ntrojan://x@c.example:443#C\n'),
  ]);

  for (const [what, text] of [
    ['a list', list.toString('utf8')],
    ['a list in base64', list.toString('base64')],
    ['a list in base64 without padding', list.toString('base64url')],
    ['percent-encoding', 'trojan://x@a:1#A\ntrojan://x@b:1#%F0%9F%87%20B\ntrojan://x@c:1#C'],
    [
      'the JSON of a link',
      ['A', '\uFFFD B', 'C']
        .map((ps) => vmess({ ...VMESS, ps }))
        .join('\n')
        .replace(
          base64(JSON.stringify({ ...VMESS, ps: '\uFFFD B' })),
          Buffer.concat(
            [
              '{"v":"2","ps":"',
              flag,
              ` B",${JSON.stringify({ ...VMESS, ps: undefined }).slice(9)}`,
            ].map((part) => Buffer.from(part)),
          ).toString('base64'),
        ),
    ],
  ] as const) {
    test(`in a name is U+FFFD, and costs no other node: ${what}`, () => {
      const names = readForeign(text).entries.map(({ draft }) => draft?.name);
      assert.deepEqual(names, ['A', '\uFFFD B', 'C']);
    });
  }

  test('in what a server compares leaves a node out', () => {
    for (const link of [
      'trojan://p\uFFFD@a.example:443#A',
      `vless://${ID}@a.example:443?type=ws&path=/\uFFFD#A`,
      `vless://${ID}@a.example:443?security=tls&sni=\uFFFD#A`,
    ]) {
      const [first, second] = readForeign(`${link}\ntrojan://x@c.example:443#C`).entries;
      assert.match(first?.skipped ?? '', /is not UTF-8$/);
      assert.equal(second?.draft?.name, 'C');
    }
  });

  test('does not make the name of a user one in base64', () => {
    const [entry] = readForeign('socks5://Og__8@a.example:1080').entries;
    assert.equal(entry?.draft?.settings['user'], 'Og__8');
  });

  test('in percent-encoding leaves other signs as they are', () => {
    for (const [written, name] of [
      ['100%', '100%'],
      ['%zz%41', '%zzA'],
      ['%E2%82%AC%', '€%'],
    ] as const) {
      assert.equal(readShareLinks(`trojan://x@a:1#${written}`).entries[0]?.draft?.name, name);
    }
  });
});

test('a message among share links is no server, and not the default', () => {
  const list = ['trojan://x@a.example:443#Traffic%3A%2012%20GB', 'trojan://x@a.example:443#Osaka'];
  const [message, node] = readForeign(list.join('\n')).entries;
  assert.deepEqual(message, {
    name: 'Traffic: 12 GB',
    skipped: 'it is a message of the provider, not a server',
  });
  assert.equal(node?.draft?.name, 'Osaka');
});
