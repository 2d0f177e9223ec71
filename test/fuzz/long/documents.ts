import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readForeign } from '@weir/nodes/import';
import { followLine, parseFollow } from '@weir/nodes/import/write/markers';
import { checkRegex } from '../../../packages/proxy/src/engine/router/tables/regex-set.ts';
import { Link } from '../../../packages/proxy/src/protocols/forms/link.ts';
import { parseJson } from '../../../packages/nodes/src/import/parse/json.ts';
import { parseYaml } from '../../../packages/nodes/src/import/parse/yaml.ts';
import { expressionOf, fromDotNet } from '../../../packages/nodes/src/import/values/expressions.ts';
import { readAnswer } from '../../../packages/nodes/src/subscribe/answer/read-answer.ts';
import {
  parseUpdateInterval,
  parseUserinfo,
} from '../../../packages/nodes/src/subscribe/files/state-file.ts';
import { shown } from './stream-outcome.ts';
import { type FuzzTarget, textSamples } from './target.ts';
import '../../support/import/load-forms.ts';

const ROOT = join(import.meta.dirname, '../../..');
const file = (path: string): Buffer => readFileSync(join(ROOT, path));

const LINKS = file('packages/nodes/test/unit/import/golden/base64.txt');

const DOCUMENTS = [
  'packages/nodes/test/unit/import/golden/mihomo.yaml',
  'packages/nodes/test/unit/import/golden/selectors.yaml',
  'packages/nodes/test/unit/import/golden/direct.yaml',
  'packages/nodes/test/unit/import/golden/sip008.json',
  'packages/nodes/test/unit/import/golden/sip008-bare.json',
  'test/support/import/documents/sing-box-client.json',
  'test/support/import/documents/sing-box-server.json',
  'test/support/import/documents/xray-client.json',
  'test/support/import/documents/xray-server.json',
].map(file);

const WG_QUICK =
  '[Interface]\nPrivateKey = AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\nAddress = 10.0.0.2/32\nDNS = 1.1.1.1\nMTU = 1420\n' +
  '[Peer]\nPublicKey = BAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\nEndpoint = a.example:51820\nAllowedIPs = 0.0.0.0/0\n';

/** Servers whose certificate is pinned by a hash. */
const PINNED = [
  '[{"remarks": "a", "outbounds": [{"tag": "h", "protocol": "hysteria", "settings": {"version": 2, "address": "a.example", "port": 443}, "streamSettings": {"network": "hysteria", "hysteriaSettings": {"version": 2, "auth": "x"}, "finalmask": {"udp": [{"type": "salamander", "settings": {"password": "cry"}}]}, "security": "tls", "tlsSettings": {"pinnedPeerCertSha256": "00"}}}]}]',
  'proxies:\n  - {name: a, type: trojan, server: a.example, port: 443, password: x, fingerprint: "00:11"}\n',
];

/** Parts of documents, which their readers above pass on. */
const IMPORT_PARTS = [
  'nodes/import/entry.ts',
  'nodes/import/clash/inbounds.ts',
  'nodes/import/clash/rules.ts',
  'nodes/import/sing-box/rules.ts',
];

const documents: FuzzTarget = {
  name: 'import-documents',
  files: [
    'nodes/import/document.ts',
    'nodes/import/clash/clash.ts',
    'nodes/import/sing-box/sing-box.ts',
    'nodes/import/xray/xray.ts',
    'nodes/import/wireguard.ts',
    ...IMPORT_PARTS,
  ],
  samples: [...DOCUMENTS, ...textSamples(WG_QUICK, ...PINNED)],
  share: 0.004,
  longest: 20_000,
  run: (input) => {
    for (const { draft, skipped } of readForeign(input.toString()).entries) {
      assert.ok(draft !== undefined || typeof skipped === 'string');
    }
  },
};

const SHARE_LINKS = textSamples(
  'ss://YWVzLTI1Ni1nY206cGFzcw@192.0.2.1:8388#name\n',
  'ss://2022-blake3-aes-256-gcm:YWFh%3AYmJi@[2001:db8::1]:8388/?plugin=x#%E4%BD%A0\n',
  'vless://b8314fca-25d9-4e0c-9a1b-1d3a5c7e9f10@a.example:443?type=ws&security=tls&path=%2Fx%3Fed%3D2048&sni=b#v\n',
  'trojan://secret@a.example:443?type=grpc&serviceName=x#t\n',
  'hysteria2://auth@a.example:443,5000-6000/?obfs=salamander&obfs-password=x&insecure=1&pinSHA256=00#h\n',
  'trojan://secret@a.example:443?security=tls&pcs=00&vcn=b.example#p\n',
  'vmess://eyJ2IjoiMiIsInBzIjoibiIsImFkZCI6ImEuZXhhbXBsZSIsInBvcnQiOiI0NDMiLCJpZCI6ImI4MzE0ZmNhLTI1ZDktNGUwYy05YTFiLTFkM2E1YzdlOWYxMCIsImFpZCI6IjAiLCJuZXQiOiJ3cyIsInRscyI6InRscyJ9\n',
  'socks://YTpi@a.example:1080#s\nhttp://u:p@a.example:8080#h\n',
  'wireguard://AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA%3D@a.example:51820?publickey=BAAA&address=10.0.0.2%2F32#w\n',
);

const shareLinks: FuzzTarget = {
  name: 'share-links',
  files: ['nodes/import/links/share-links.ts', 'proxy/protocols/forms/link.ts'],
  samples: [...SHARE_LINKS, LINKS],
  share: 0.1,
  longest: 2000,
  run: (input) => {
    const text = input.toString();
    readForeign(`ss://${text}`);
    readForeign(text);
  },
};

/** A link is read whatever lines stand in front of it and behind it. */
const linkLists: FuzzTarget = {
  name: 'link-lists',
  files: ['nodes/import/links/share-links.ts'],
  samples: [
    ...SHARE_LINKS,
    LINKS,
    ...textSamples(
      'STATUS=12 GB\nREMARKS=x\n\n# c\n// c\ntuic://a:b@c:1#d\n',
      'ss://%ff#\xf0\x9f\n',
    ),
  ],
  share: 0.05,
  longest: 2000,
  run: (input) => {
    const text = input.toString();
    const { entries } = readForeign(`trojan://a@a.example:1#a\n${text}\ntrojan://z@z.example:2#z`);
    assert.equal(entries[0]?.draft?.server, 'a.example');
    assert.equal(entries.at(-1)?.draft?.server, 'z.example');
    // A line may have several links, or be a list in base64.
    assert.ok(entries.length <= text.length + 2);
  },
};

const foreignJson: FuzzTarget = {
  name: 'json-with-comments',
  files: ['nodes/import/parse/json.ts'],
  samples: textSamples(
    '{"a": [1, 2.5e3, null, true, "x\\u00e9\\n"], // note\n "b": {/* c */}}',
    '# first\n// second\n/* third */ {"a": "#//", # d\n"b": [1,], }',
    '[{"remarks": "a # b", "outbounds": []}]',
  ),
  share: 0.05,
  run: (input) => {
    const text = input.toString();
    let plain: unknown;
    try {
      plain = JSON.parse(text);
    } catch {
      parseJson(text);
      return;
    }
    // Where nothing has to be left out, it is JSON.
    assert.deepEqual(parseJson(text), plain);
  },
};

/** Values of a tree in which one value may stand in several places, each counted as often as it does. */
function valuesOf(value: unknown, known = new Map<object, number>()): number {
  if (typeof value !== 'object' || value === null) return 1;
  let size = known.get(value);
  if (size === undefined) {
    size = 1;
    for (const each of Object.values(value)) size += valuesOf(each, known);
    known.set(value, size);
  }
  return size;
}

const LAUGH = Array.from(
  { length: 8 },
  (_, level) =>
    `l${level}: &l${level} [${Array(9)
      .fill(level === 0 ? 'x' : `*l${level - 1}`)
      .join(', ')}]\n`,
);

const foreignYaml: FuzzTarget = {
  name: 'yaml',
  files: ['nodes/import/parse/yaml.ts'],
  samples: textSamples(
    'a: &x [1, {b: c}]\nd: *x\ne: |\n  text\n<<: {f: g}\n',
    '- {name: "a", type: ss, port: 1}\n- ? k\n  : v\n',
    'base: &b {a: ~, c: null}\nproxies:\n  - {<<: *b, name: a}\n  - {<<: [*b, *b], name: b}\n',
    LAUGH.slice(0, 3).join(''),
    LAUGH.join(''),
  ),
  share: 0.02,
  run: (input) => {
    // What the readers go through is bounded, whatever aliases stand for.
    assert.ok(valuesOf(parseYaml(input.toString())) <= 1_000_000);
  },
};

const expressions: FuzzTarget = {
  name: 'foreign-expressions',
  files: ['nodes/import/values/expressions.ts'],
  samples: textSamples(
    '^hk-[a-z-[aeiou-[e]]]$',
    '[]^a&&b~~c--d]{,2}x{1,2}}',
    String.raw`^(?:ads?|(?<n>track))\d*\.[\p{L}\x41\u0042]\b`,
    '(?i)a(?-i:b)[[:alpha:]](?=c)',
  ),
  share: 0.2,
  longest: 300,
  run: (input, random) => {
    const text = input.toString();
    if (/^[a-z0-9.]*$/i.test(text)) assert.equal(fromDotNet(text), text);
    const rust = random.chance(0.5) ? fromDotNet(text) : expressionOf(text);
    assert.ok(rust.length <= 3 * text.length + 8);
    // Rust's reader is slower by far.
    if (random.chance(0.05)) checkRegex(rust);
  },
};

const followMarkers: FuzzTarget = {
  name: 'follow-markers',
  files: ['nodes/import/write/markers.ts'],
  samples: textSamples(
    '# follows: *',
    '# follows: home, (import); group: "A\\u0000"; filter: "(?i)hk"; exclude: "x"; exclude-protocol: "vmess"',
  ),
  share: 0.01,
  longest: 2000,
  run: (input) => {
    const marker = parseFollow(shown(input));
    if (!marker || 'problem' in marker) return;
    const line = followLine(marker);
    if (line !== undefined) assert.deepEqual(parseFollow(line), marker);
  },
};

const subscriptions: FuzzTarget = {
  name: 'subscription-answers',
  files: ['nodes/subscribe/answer/read-answer.ts', 'nodes/subscribe/files/state-file.ts'],
  samples: [
    ...SHARE_LINKS,
    LINKS,
    ...textSamples('upload=1; download=2; total=3; expire=4', '<html><title>x</title>'),
  ],
  share: 0.01,
  longest: 2000,
  run: async (input) => {
    for (const value of Object.values(parseUserinfo(shown(input)) ?? {})) {
      assert.ok(Number.isSafeInteger(value) && value >= 0);
    }
    parseUpdateInterval(shown(input));
    const { nodes } = await readAnswer(input, { fromThisMachine: false });
    assert.ok(nodes.length > 0);
  },
};

const linkTexts: FuzzTarget = {
  name: 'link-parts',
  files: ['proxy/protocols/forms/link.ts'],
  samples: SHARE_LINKS,
  share: 0.3,
  run: (input) => {
    const link = new Link(input.toString());
    assert.ok(link);
  },
};

/** Documents of other programs, and their parts. */
export const DOCUMENT_TARGETS: readonly FuzzTarget[] = [
  documents,
  shareLinks,
  linkLists,
  linkTexts,
  foreignJson,
  foreignYaml,
  expressions,
  followMarkers,
  subscriptions,
];
