import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readForeign, type Imported } from '../../../src/import/document.ts';
import '../../../../../test/support/import/load-forms.ts';

/* What real programs send over WebSocket for keys that stand elsewhere, or not at all, in Weir. */

const ID = 'b831381d-6324-4d53-ad4f-8cda48b30811';

const entryIn = (document: string): Imported['entries'][number] => {
  const [entry] = readForeign(document).entries;
  assert.ok(entry);
  return entry;
};

const serverName = (document: string): unknown => {
  const entry = entryIn(document);
  assert.equal(entry.skipped, undefined);
  return entry.draft?.stream?.tls?.['server_name'];
};

const clash = (fields: object): string =>
  `proxies:\n- ${JSON.stringify({ name: 'a', server: '192.0.2.5', port: 443, ...fields }).replaceAll('":', '": ')}\n`;

const vmessLink = (fields: object): string =>
  `vmess://${Buffer.from(JSON.stringify({ v: '2', add: '192.0.2.5', port: 443, id: ID, aid: 0, net: 'ws', tls: 'tls', path: '/x', ...fields })).toString('base64')}`;

const xray = (wsSettings: object, tlsSettings: object = {}): string =>
  JSON.stringify({
    outbounds: [
      {
        protocol: 'vless',
        settings: { address: '192.0.2.5', port: 443, id: ID },
        streamSettings: { network: 'ws', security: 'tls', wsSettings, tlsSettings },
      },
    ],
  });

const singBox = (transport: object): string =>
  JSON.stringify({
    outbounds: [
      {
        type: 'vless',
        server: '192.0.2.5',
        server_port: 443,
        uuid: ID,
        tls: { enabled: true },
        transport: { type: 'ws', ...transport },
      },
    ],
  });

const ws = (host: unknown): object => ({
  uuid: ID,
  tls: true,
  network: 'ws',
  'ws-opts': { path: '/x', headers: { Host: host } },
});

describe('the name for TLS over WebSocket', () => {
  for (const [what, document, name] of [
    ['VMess of Clash', clash({ type: 'vmess', ...ws('h.test') }), 'h.test'],
    ['VLESS of Clash', clash({ type: 'vless', ...ws('h.test') }), 'h.test'],
    ['a Host with a port', clash({ type: 'vless', ...ws('h.test:8443') }), 'h.test'],
    [
      'a Host in another letter case',
      clash({ type: 'vless', ...ws('h.test'), 'ws-opts': { headers: { HOST: 'h.test' } } }),
      'h.test',
    ],
    ['a list of one Host', clash({ type: 'vless', ...ws(['h.test']) }), 'h.test'],
    ['an empty name', clash({ type: 'vless', servername: '', ...ws('h.test') }), 'h.test'],
    ['a server with a name', clash({ type: 'vless', ...ws('h.test'), server: 's.test' }), 'h.test'],
    ['the JSON of a link', vmessLink({ host: 'h.test' }), 'h.test'],
    ['the JSON of a link, with an empty name', vmessLink({ host: 'h.test', sni: '' }), 'h.test'],
    [
      'a link of VMess as a URL',
      `vmess://${ID}@192.0.2.5:443?type=ws&security=tls&host=h.test`,
      'h.test',
    ],
  ] as const) {
    test(`is that of the Host: ${what}`, () => assert.equal(serverName(document), name));
  }

  for (const [what, document, name] of [
    [
      'VLESS of Clash with a name',
      clash({ type: 'vless', servername: 'n.test', ...ws('h.test') }),
      'n.test',
    ],
    ['a link with a name', vmessLink({ host: 'h.test', sni: 'n.test' }), 'n.test'],
    ['a Host that is an address', clash({ type: 'vmess', ...ws('192.0.2.7') }), undefined],
    [
      'a Host that is an IPv6 address',
      clash({ type: 'vmess', ...ws('[2001:db8::1]:443') }),
      undefined,
    ],
    ['a list of hosts', vmessLink({ host: 'h.test,i.test' }), undefined],
    ['Trojan of Clash', clash({ type: 'trojan', password: 'x', ...ws('h.test') }), undefined],
    ['gRPC', vmessLink({ host: 'h.test', net: 'grpc', path: 'x' }), undefined],
    ['a link of VLESS', `vless://${ID}@192.0.2.5:443?type=ws&security=tls&host=h.test`, undefined],
    ['a link of Trojan', `trojan://x@192.0.2.5:443?type=ws&host=h.test`, undefined],
    ['Xray', xray({ host: 'h.test' }), undefined],
    ['sing-box', singBox({ headers: { Host: 'h.test' } }), undefined],
  ] as const) {
    test(`is not that of the Host: ${what}`, () => assert.equal(serverName(document), name));
  }

  test('is none without TLS', () =>
    assert.equal(serverName(clash({ type: 'vmess', ...ws('h.test'), tls: false })), undefined));
});

describe('the Host of a WebSocket', () => {
  for (const name of ['Host', 'host', 'HOST', 'hOsT']) {
    for (const [program, document] of [
      ['Clash', clash({ type: 'vless', ...ws(''), 'ws-opts': { headers: { [name]: 'h.test' } } })],
      ['Xray', xray({ headers: { [name]: 'h.test' } })],
      ['Xray with an empty one', xray({ host: '', headers: { [name]: 'h.test' } })],
      ['sing-box', singBox({ headers: { [name]: 'h.test' } })],
      ['sing-box, in a list', singBox({ headers: { [name]: ['h.test'] } })],
    ] as const) {
      test(`is read in any letter case: ${program}, ${name}`, () => {
        const entry = entryIn(document);
        assert.equal(entry.draft?.stream?.ws?.['host'], 'h.test');
        assert.deepEqual(entry.draft === undefined ? undefined : entry.notes, []);
      });
    }
  }
});

describe('early data of a WebSocket', () => {
  const sent = (document: string): unknown => {
    const entry = entryIn(document);
    return [entry.draft?.stream?.ws?.['path'], entry.draft === undefined ? [] : entry.notes];
  };
  const opts = (more: object): string =>
    clash({ type: 'vless', ...ws('h.test'), 'ws-opts': { path: '/p', ...more } });
  const note = (key: string): string =>
    `"${key}" is not carried over: Weir sends early data in the header Sec-WebSocket-Protocol alone, and servers do without`;

  for (const header of ['Sec-WebSocket-Protocol', 'sec-websocket-protocol']) {
    test(`is sent in the header ${header}`, () => {
      const clashed = opts({ 'max-early-data': 2048, 'early-data-header-name': header });
      const boxed = singBox({
        path: '/p',
        max_early_data: 2048,
        early_data_header_name: header,
      });
      for (const document of [clashed, boxed]) assert.deepEqual(sent(document), ['/p?ed=2048', []]);
    });
  }

  test('is sent for a link that asks for it', () => {
    const link = `vless://${ID}@a.test:443?type=ws&path=%2Fp&ed=2048`;
    assert.deepEqual(sent(link), ['/p?ed=2048', []]);
    assert.deepEqual(sent(`${link}&eh=Sec-WebSocket-Protocol`), ['/p?ed=2048', []]);
    assert.deepEqual(sent(`${link}&eh=X-Early`), ['/p', [note('ed')]]);
  });

  for (const header of [undefined, '', null, 'X-Early']) {
    test(`is not sent where it would be elsewhere: ${header}`, () => {
      assert.deepEqual(sent(opts({ 'max-early-data': 2048, 'early-data-header-name': header })), [
        '/p',
        [note('ws-opts.max-early-data')],
      ]);
      assert.deepEqual(
        sent(singBox({ path: '/p', max_early_data: 2048, early_data_header_name: header })),
        ['/p', [note('transport.max_early_data')]],
      );
    });
  }

  test('is none of zero bytes', () => {
    assert.deepEqual(sent(opts({ 'max-early-data': 0 })), ['/p', []]);
    assert.deepEqual(sent(singBox({ path: '/p', early_data_header_name: 'X' })), ['/p', []]);
  });
});

test('a link may accept any certificate by each name of that key', () => {
  for (const [link, isInsecure] of [
    [vmessLink({ allowInsecure: 1 }), true],
    [vmessLink({ allowInsecure: '1' }), true],
    [vmessLink({ allowInsecure: true, insecure: '0' }), true],
    [vmessLink({ insecure: 'true' }), true],
    [vmessLink({ allowInsecure: 0 }), undefined],
    [vmessLink({ allowInsecure: '' }), undefined],
  ] as const) {
    const entry = entryIn(link);
    assert.equal(entry.draft?.stream?.tls?.['allow_insecure'], isInsecure);
    assert.equal(entry.draft && entry.notes.length, isInsecure ? 1 : 0);
  }
  const hysteria = entryIn('hysteria2://x@a.test:1?allowInsecure=1&peer=n.test');
  assert.equal(hysteria.draft?.settings['allow_insecure'], true);
  assert.equal(hysteria.draft.settings['server_name'], 'n.test');
});
