import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readForeign } from '../../../src/import/document.ts';
import type { ImportedEntry } from '../../../src/import/routing.ts';
import { outboundText } from '../../../src/import/write/tables.ts';
import {
  CLASH,
  SING_BOX,
  XRAY,
  type ProgramKeys,
} from '../../../../../test/support/import/key-lists.ts';
import '../../../../../test/support/import/load-forms.ts';

/** A copy of `entry` with `value` at a path; the objects on the way are made, and lists have one member. */
function withKey(entry: object, path: string, value: unknown): object {
  const copy = structuredClone(entry) as Record<string, unknown>;
  const keys = path.split('.');
  let at = copy;
  for (const key of keys.slice(0, -1)) {
    const found = at[key] ?? {};
    at[key] = found;
    at = (Array.isArray(found) ? found[0] : found) as Record<string, unknown>;
  }
  at[keys.at(-1) ?? ''] = value;
  return copy;
}

const READERS: readonly {
  readonly program: string;
  readonly lists: readonly ProgramKeys[];
  readonly documentOf: (entry: object) => string;
}[] = [
  {
    program: 'sing-box',
    lists: SING_BOX,
    documentOf: (entry) => JSON.stringify({ outbounds: [entry] }),
  },
  { program: 'Xray', lists: XRAY, documentOf: (entry) => JSON.stringify({ outbounds: [entry] }) },
  {
    program: 'Clash',
    lists: CLASH,
    documentOf: (entry) => `proxies:\n  - ${JSON.stringify(entry)}\n`,
  },
];

const textOf = (entry: ImportedEntry): string =>
  entry.draft ? outboundText('x', entry.draft) : '';

for (const { program, lists, documentOf } of READERS) {
  const read = (entry: object): ImportedEntry => {
    const [first] = readForeign(documentOf(entry)).entries;
    assert.ok(first);
    return first;
  };
  describe(`an outbound of ${program}`, () => {
    for (const { what, entry, keys } of lists) {
      test(`${what} is imported without a note when it has nothing unusual`, () => {
        const plain = read(entry);
        assert.ok(plain.draft, plain.skipped ?? '');
        assert.deepEqual(plain.notes, []);
      });

      test(`${what} loses no key without a word`, () => {
        const plain = textOf(read(entry));
        for (const [path, value] of Object.entries(keys)) {
          const changed = read(withKey(entry, path, value));
          if (!changed.draft) continue;
          const isNamed = changed.notes.some((note) => note.includes(path.split('.').at(-1) ?? ''));
          const isUnknown = changed.notes.some((note) => note.includes('unknown here'));
          assert.ok(!isUnknown, `${path}: ${changed.notes.join('; ')}`);
          const isCarried = textOf(changed) !== plain;
          const has = isCarried || isNamed || SILENT.has(path);
          assert.ok(has, `${program} ${what}: ${path} is neither carried over nor named`);
        }
      });
    }
  });
}

/** Keys with which Weir behaves as the other program does, or that say nothing about the connection. */
const SILENT: ReadonlySet<string> = new Set([
  // The header of early data, of which these entries have none.
  'transport.early_data_header_name',
  'ws-opts.early-data-header-name',
  'packet_encoding',
  'plugin_opts',
  'authenticated_length',
  'hop_interval',
  'settings.level',
  'settings.email',
  'settings.vnext.users.level',
  'settings.vnext.users.email',
  'settings.servers.level',
  'settings.servers.email',
  'settings.servers.UoTVersion',
  'settings.servers.ivCheck',
  'settings.userLevel',
  'settings.noKernelTun',
  'settings.peers.level',
  'settings.peers.email',
  'streamSettings.tlsSettings.enableSessionResumption',
  'streamSettings.tlsSettings.rejectUnknownSni',
  'udp',
  'packet-addr',
  'xudp',
  'packet-encoding',
  'http-opts',
  'h2-opts',
  'authenticated-length',
  'udp-over-tcp-version',
  'plugin-opts',
  'hop-interval',
  'ws-opts.v2ray-http-upgrade-fast-open',
]);

describe('a key that would show what it was to hide', () => {
  for (const [what, documentText, reason] of [
    [
      'detour of sing-box',
      JSON.stringify({
        outbounds: [
          { type: 'socks', tag: 'a', server: 'a.example', server_port: 1, detour: 'other' },
        ],
      }),
      /"detour": the connection to this server goes through another one/,
    ],
    [
      'dialer-proxy of Clash',
      'proxies:\n  - {name: a, type: socks5, server: a.example, port: 1, dialer-proxy: other}\n',
      /"dialer-proxy": the connection/,
    ],
    [
      'dialerProxy of Xray',
      JSON.stringify({
        outbounds: [
          {
            protocol: 'socks',
            settings: { servers: [{ address: 'a.example', port: 1 }] },
            streamSettings: { sockopt: { dialerProxy: 'other' } },
          },
        ],
      }),
      /"streamSettings\.sockopt\.dialerProxy": the connection/,
    ],
    [
      'ech of a share link',
      'vless://b831381d-6324-4d53-ad4f-8cda48b30811@a.example:1?security=tls&ech=x',
      /"ech": encrypted ClientHello/,
    ],
  ] as const) {
    test(`leaves the entry out: ${what}`, () => {
      assert.match(readForeign(documentText).entries[0]?.skipped ?? '', reason);
    });
  }
});

test('a certificate that is not verified is named', () => {
  const [entry] = readForeign('trojan://p@a.example:1?allowInsecure=1').entries;
  assert.ok(entry?.draft);
  assert.match(entry.notes.join(), /any certificate is accepted \(allow_insecure\)/);
});

test('a key that no reader knows is named, and many are counted', () => {
  const many = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`key${i}`, 'x']));
  const entry = { type: 'socks', server: 'a', server_port: 1, ...many };
  const [read] = readForeign(JSON.stringify({ outbounds: [entry] })).entries;
  assert.ok(read?.draft);
  assert.equal(read.notes[0], '"key0" is not carried over: this key is unknown here');
  assert.equal(read.notes.at(-1), '980 more keys are not carried over');
});
