import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { outboundText } from '../../../src/import/write/tables.ts';
import { specOf } from '../../../../../test/support/import/support.ts';
import { comparable, FORMS, onlyDraft } from '../../../../../test/support/share/forms.ts';
import { sharedOf } from '../../../../../test/support/share/shared-inbound.ts';
import { certificate, SERVER_NAME } from '../../../../../test/support/ways/certificate.ts';

/*
 * Every protocol on every carrier, from the inbound in a file to the outbound that the user of each
 * program gets from it. What is expected is written here as a user would write it.
 */

const { certFile, keyFile, ca } = certificate();
const FILES = `cert_file = ${JSON.stringify(certFile)}, key_file = ${JSON.stringify(keyFile)}`;
const NAMED = `server_name = "${SERVER_NAME}"`;
const IDS = ['b831381d-6324-4d53-ad4f-8cda48b30811', '0b1c2d3e-4f50-4162-8394-a5b6c7d8e9f0'];
const [KEY, ...KEYS] = [
  'AAAAAAAAAAAAAAAAAAAAAA==',
  'AQEBAQEBAQEBAQEBAQEBAQ==',
  'AgICAgICAgICAgICAgICAg==',
];

interface Table {
  readonly inbound: string;
  /** The settings of each user's outbound, in order. */
  readonly outbounds: readonly string[];
}

const uuids = (ids: readonly string[]): Table => ({
  inbound: `users = [${ids.map((id) => `{ id = "${id}" }`).join(', ')}]`,
  outbounds: ids.map((id) => `id = "${id}"`),
});
const logins = (names: readonly string[], auth = ''): Table => ({
  inbound: `${auth}accounts = [${names.map((user) => `{ user = "${user}", pass = "p@:/" }`).join(', ')}]`,
  outbounds: names.map((user) => `user = "${user}", pass = "p@:/"`),
});
const trojan = (passwords: readonly string[]): Table => ({
  inbound: `users = [${passwords.map((each) => `{ password = "${each}" }`).join(', ')}]`,
  outbounds: passwords.map((each) => `password = "${each}"`),
});

const CARRIERS = [
  ['tcp', '', ''],
  [
    'WebSocket',
    'network = "ws", ws = { path = "/a b?x=1" }',
    'network = "ws", ws = { path = "/a b?x=1" }',
  ],
  [
    'WebSocket with a host',
    'network = "ws", ws = { path = "/w", host = "cdn.example" }',
    'network = "ws", ws = { path = "/w", host = "cdn.example" }',
  ],
  [
    'gRPC',
    'network = "grpc", grpc = { service_name = "S" }',
    'network = "grpc", grpc = { service_name = "S" }',
  ],
] as const;

/** Protocols on streams, with one user and with two. */
const STREAMED: readonly (readonly [name: string, protocol: string, Table])[] = [
  ['vless', 'vless', uuids(IDS.slice(0, 1))],
  ['vless with two users', 'vless', uuids(IDS)],
  ['vmess', 'vmess', uuids(IDS.slice(0, 1))],
  ['vmess with two users', 'vmess', uuids(IDS)],
  ['trojan', 'trojan', trojan(['p@ss w:rd'])],
  ['trojan with two users', 'trojan', trojan(['p', 'ü'])],
  ['http with one account', 'http', logins(['u'])],
  ['http with two accounts', 'http', logins(['u', 'w x'])],
  ['http without accounts', 'http', { inbound: '', outbounds: [''] }],
];

const BARE: readonly (readonly [name: string, protocol: string, Table])[] = [
  ['socks with one account', 'socks', logins(['u'], 'auth = "password", ')],
  ['socks with two accounts', 'socks', logins(['u', 'w x'], 'auth = "password", ')],
  ['socks without accounts', 'socks', { inbound: '', outbounds: [''] }],
  ...['aes-128-gcm', 'aes-256-gcm', 'chacha20-ietf-poly1305'].map(
    (method) =>
      [
        `shadowsocks ${method}`,
        'shadowsocks',
        {
          inbound: `method = "${method}", password = "p:w"`,
          outbounds: [`method = "${method}", password = "p:w"`],
        },
      ] as const,
  ),
  [
    'shadowsocks with two users',
    'shadowsocks',
    {
      inbound:
        'method = "aes-128-gcm", password = "", users = [{ password = "a" }, { password = "b" }]',
      outbounds: ['a', 'b'].map((each) => `method = "aes-128-gcm", password = "${each}"`),
    },
  ],
  [
    'shadowsocks 2022',
    'shadowsocks',
    {
      inbound: `method = "2022-blake3-aes-128-gcm", password = "${KEY}"`,
      outbounds: [`method = "2022-blake3-aes-128-gcm", password = "${KEY}"`],
    },
  ],
  [
    'shadowsocks 2022 with two users',
    'shadowsocks',
    {
      inbound: `method = "2022-blake3-aes-128-gcm", password = "${KEY}", users = [${KEYS.map((key) => `{ password = "${key}" }`).join(', ')}]`,
      outbounds: KEYS.map(
        (key) => `method = "2022-blake3-aes-128-gcm", password = "${KEY}:${key}"`,
      ),
    },
  ],
  [
    'hysteria2',
    'hysteria2',
    { inbound: `password = "p w", ${FILES}`, outbounds: [`password = "p w", ${NAMED}`] },
  ],
  [
    'hysteria2 with two users, under Salamander',
    'hysteria2',
    {
      inbound: `users = [{ user = "a", pass = "p" }, { user = "b", pass = "q:r" }], obfs = "salamander", obfs_password = "salty", ${FILES}`,
      outbounds: ['a:p', 'b:q:r'].map(
        (auth) => `password = "${auth}", obfs = "salamander", obfs_password = "salty", ${NAMED}`,
      ),
    },
  ],
];

interface Row {
  readonly title: string;
  readonly protocol: string;
  readonly table: Table;
  /** The streams of the inbound and of an outbound. */
  readonly streams: readonly [inbound: string, outbound: string];
}

const ROWS: readonly Row[] = [
  ...STREAMED.flatMap(([name, protocol, table]) =>
    CARRIERS.flatMap(([carrier, server, client]): Row[] => [
      { title: `${name} on ${carrier}`, protocol, table, streams: [server, client] },
      {
        title: `${name} on ${carrier === 'tcp' ? '' : `${carrier} over `}TLS`,
        protocol,
        table,
        streams: [
          [
            server === '' ? 'network = "tls"' : `${server}, security = "tls"`,
            `tls = { ${FILES} }`,
          ].join(', '),
          [
            client === '' ? 'network = "tls"' : `${client}, security = "tls"`,
            `tls = { ${NAMED} }`,
          ].join(', '),
        ],
      },
    ]),
  ),
  ...BARE.map(([title, protocol, table]): Row => ({ title, protocol, table, streams: ['', ''] })),
];

const streamLine = (stream: string): string => (stream === '' ? '' : `stream = { ${stream} }`);

describe('an inbound that is shared and imported again is the outbound of each user', () => {
  for (const { title, protocol, table, streams } of ROWS) {
    test(title, async () => {
      const [server, client] = streams;
      const { servers } = await sharedOf(
        `protocol = "${protocol}"\nlisten = "::"\nport = 443\nsettings = { ${table.inbound} }\n${streamLine(server)}`,
        { serverName: SERVER_NAME, roots: () => [ca] },
      );
      assert.equal(servers.length, table.outbounds.length);
      let forms = 0;
      for (const [index, { server: shared }] of servers.entries()) {
        const wanted = await specOf(
          `[[outbound]]\ntag = "out"\nprotocol = "${protocol}"\nserver = "proxy.example.com"\nport = 443\nsettings = { ${table.outbounds[index] ?? ''} }\n${streamLine(client)}`,
        );
        for (const [form, { write, lacks }] of Object.entries(FORMS)) {
          if (lacks(shared)) continue;
          forms++;
          const imported = await specOf(outboundText('out', onlyDraft(write(shared))));
          assert.deepEqual(comparable(imported, form), comparable(wanted, form), form);
        }
      }
      assert.ok(forms > 0);
    });
  }
});
