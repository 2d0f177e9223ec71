import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readForeign } from '../../../src/import/document.ts';
import type { ImportedEntry } from '../../../src/import/routing.ts';
import '../../../../../test/support/import/load-forms.ts';

/*
 * Pins of other programs. Weir cannot compare hashes: it verifies the chain and the name, and says so. What a
 * document skips beside a pin (`insecure`) it must not skip without it.
 */

const ID = 'b831381d-6324-4d53-ad4f-8cda48b30811';
const HEX = 'E0'.repeat(32);
const COLONS = HEX.replaceAll(/..(?=.)/g, '$&:');
const BASE64 = Buffer.from(HEX, 'hex').toString('base64');

const vmess = (fields: object): string =>
  `vmess://${Buffer.from(JSON.stringify({ v: '2', ps: 'n', add: 'a.example', port: '443', id: ID, tls: 'tls', ...fields })).toString('base64')}`;
const singBox = (type: string, tls: object): string =>
  JSON.stringify({
    outbounds: [
      {
        type,
        tag: 'n',
        server: 'a.example',
        server_port: 443,
        password: 'p',
        tls: { enabled: true, ...tls },
      },
    ],
  });
const xray = (tlsSettings: object): string =>
  JSON.stringify({
    outbounds: [
      {
        tag: 'n',
        protocol: 'trojan',
        settings: { servers: [{ address: 'a.example', port: 443, password: 'p' }] },
        streamSettings: { network: 'tcp', security: 'tls', tlsSettings },
      },
    ],
  });
const clash = (type: string, rest: string): string =>
  `proxies:\n  - {name: n, type: ${type}, server: a.example, port: 443, ${type === 'vless' ? `uuid: ${ID}` : 'password: p'}, tls: true, ${rest}}\n`;

function entryOf(document: string): ImportedEntry {
  const [entry] = readForeign(document).entries;
  assert.ok(entry?.draft, entry?.skipped ?? 'no entry');
  return entry;
}

const tlsOf = ({ draft }: ImportedEntry): Readonly<Record<string, unknown>> =>
  draft?.stream?.tls ?? draft?.settings ?? {};

const notesOf = (document: string): string => {
  const entry = entryOf(document);
  return entry.draft ? entry.notes.join('\n') : '';
};

const noteFor = (key: string): string =>
  `"${key}" is not carried over: Weir cannot compare a certificate with a hash, and verifies its chain and its name instead; write a self-signed one to a PEM file, and name that as ca_file`;

describe('a pinned certificate is verified by its chain and its name, and a note says so:', () => {
  for (const [what, key, document] of [
    ['VLESS link', 'pcs', `vless://${ID}@a.example:443?security=tls&pcs=${HEX}`],
    [
      'Trojan link over WebSocket',
      'pcs',
      `trojan://p@a.example:443?type=ws&pcs=${HEX}&allowInsecure=1`,
    ],
    ['Trojan link over gRPC', 'pcs', `trojan://p@a.example:443?type=grpc&serviceName=s&pcs=${HEX}`],
    ['VMess link', 'pcs', `vmess://${ID}@a.example:443?security=tls&pcs=${HEX}&insecure=1`],
    ['VMess JSON', 'pcs', vmess({ pcs: HEX, insecure: '1' })],
    ['Hysteria 2 link', 'pinSHA256', `hysteria2://p@a.example:443/?pinSHA256=${COLONS}&insecure=1`],
    ['Clash, VLESS', 'fingerprint', clash('vless', `fingerprint: '${COLONS}'`)],
    [
      'Clash, Trojan',
      'fingerprint',
      clash('trojan', `fingerprint: ${HEX}, skip-cert-verify: true`),
    ],
    [
      'Clash, Hysteria 2',
      'fingerprint',
      clash('hysteria2', `fingerprint: ${HEX}, skip-cert-verify: true`),
    ],
    [
      'Xray',
      'streamSettings.tlsSettings.pinnedPeerCertSha256',
      xray({ pinnedPeerCertSha256: `${HEX},${COLONS}`, allowInsecure: true }),
    ],
    [
      'Xray and v2ray, of a chain',
      'streamSettings.tlsSettings.pinnedPeerCertificateChainSha256',
      xray({ pinnedPeerCertificateChainSha256: [BASE64], allowInsecure: true }),
    ],
    [
      'Xray, of a public key',
      'streamSettings.tlsSettings.pinnedPeerCertificatePublicKeySha256',
      xray({ pinnedPeerCertificatePublicKeySha256: [BASE64] }),
    ],
    [
      'sing-box',
      'tls.certificate_public_key_sha256',
      singBox('trojan', { certificate_public_key_sha256: [BASE64], insecure: true }),
    ],
    [
      'sing-box, Hysteria 2',
      'tls.certificate_public_key_sha256',
      singBox('hysteria2', { certificate_public_key_sha256: BASE64 }),
    ],
  ] as const) {
    test(what, () => {
      const entry = entryOf(document);
      assert.equal(tlsOf(entry)['allow_insecure'], undefined);
      assert.deepEqual(entry.draft && entry.notes.filter((note) => note.includes('hash')), [
        noteFor(key),
      ]);
    });
  }

  test('a file with the authority stays beside it', () => {
    const entry = entryOf(
      singBox('trojan', { certificate_path: 'a.pem', certificate_public_key_sha256: [BASE64] }),
    );
    assert.equal(tlsOf(entry)['ca_file'], 'a.pem');
    assert.doesNotMatch(String(entry.draft && entry.notes), /PEM/);
  });

  test('an empty one is none', () => {
    for (const document of [
      'hysteria2://p@a.example:443/?pinSHA256=&insecure=1',
      clash('trojan', "fingerprint: '', skip-cert-verify: true"),
      xray({ pinnedPeerCertSha256: '', pinnedPeerCertificateChainSha256: [], allowInsecure: true }),
      singBox('trojan', { certificate_public_key_sha256: [''], insecure: true }),
    ]) {
      const entry = entryOf(document);
      assert.equal(tlsOf(entry)['allow_insecure'], true, document);
      assert.doesNotMatch(String(entry.draft && entry.notes), /hash/);
    }
  });

  test('without TLS it says nothing', () => {
    assert.equal(notesOf(`vless://${ID}@a.example:443?security=none&pcs=${HEX}`), '');
  });

  test('the name of a browser in `fingerprint` is no hash', () => {
    const entry = entryOf(clash('vless', 'fingerprint: chrome, skip-cert-verify: true'));
    assert.equal(tlsOf(entry)['allow_insecure'], true);
    assert.match(
      String(entry.draft && entry.notes),
      /^"fingerprint" is not carried over: Weir does/m,
    );
  });

  test('names to verify in place of the one that is sent are noted', () => {
    for (const document of [
      `vless://${ID}@a.example:443?security=tls&vcn=b.example`,
      xray({ verifyPeerCertByName: 'b.example' }),
      xray({ verifyPeerCertInNames: ['b.example'] }),
    ]) {
      assert.match(
        notesOf(document),
        /is not carried over: the name that is verified is the one that is sent/,
      );
    }
  });
});

describe('Hysteria 2 of Xray 26', () => {
  const hysteria = (stream: object, settings: object = {}): string =>
    JSON.stringify({
      outbounds: [
        {
          tag: 'n',
          protocol: 'hysteria',
          settings: { version: 2, address: 'a.example', port: 443, ...settings },
          streamSettings: {
            network: 'hysteria',
            hysteriaSettings: { version: 2, auth: 'u:p' },
            security: 'tls',
            tlsSettings: { serverName: 'b.example' },
            ...stream,
          },
        },
      ],
    });

  test('is imported with its password, its name and its mask', () => {
    const masks = { udp: [{ type: 'salamander', settings: { password: 'cry' } }] };
    const { draft } = entryOf(hysteria({ finalmask: masks }));
    assert.deepEqual(JSON.parse(JSON.stringify(draft)), {
      name: 'n',
      server: 'a.example',
      port: 443,
      protocol: 'hysteria2',
      settings: {
        password: 'u:p',
        server_name: 'b.example',
        obfs: 'salamander',
        obfs_password: 'cry',
      },
    });
  });

  test('is named by `method` as well, as are other transports', () => {
    assert.ok(entryOf(hysteria({ network: undefined, method: 'hysteria' })).draft);
    const { draft } = entryOf(
      JSON.stringify({
        outbounds: [
          {
            tag: 'n',
            protocol: 'trojan',
            settings: { address: 'a.example', port: 443, password: 'p' },
            streamSettings: { method: 'ws', wsSettings: { path: '/w' } },
          },
        ],
      }),
    );
    assert.deepEqual(draft?.stream?.ws?.['path'], '/w');
  });

  for (const [what, document, reason] of [
    ['of version 1', hysteria({}, { version: 1 }), /only version 2/],
    ['over TCP', hysteria({ network: 'tcp' }), /another transport/],
    ['without TLS', hysteria({ security: 'none' }), /without TLS/],
    ['without a password', hysteria({ hysteriaSettings: { version: 2 } }), /no "auth"/],
    [
      'with several ports',
      hysteria({ finalmask: { quicParams: { udpHop: { ports: '1-9' } } } }),
      /port hopping/,
    ],
    [
      'with several masks',
      hysteria({ finalmask: { udp: [{ type: 'salamander' }, { type: 'noise' }] } }),
      /more than one/,
    ],
    [
      'with packets of other sizes',
      hysteria({
        finalmask: {
          udp: [{ type: 'salamander', settings: { password: 'cry', packetSize: '1-9' } }],
        },
      }),
      /masks of the transport/,
    ],
  ] as const) {
    test(`${what} is left out with the reason`, () => {
      assert.match(readForeign(document).entries[0]?.skipped ?? '', reason);
    });
  }
});
