import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { bearerCheck } from '../../../packages/server/src/api/http/request-filter.ts';
import { addressPlace } from '../../../packages/server/src/local-http/guard.ts';
import { splitRequestTarget } from '../../../packages/server/src/local-http/router.ts';
import {
  parseIfMatch,
  parseSelector,
  textParameter,
  u64Parameter,
  parsePickBody,
} from '../../../packages/server/src/api/requests.ts';
import { clientAddress } from '../../../packages/watch/src/links/client-address.ts';
import { formatFor, formatNamed } from '../../../packages/watch/src/links/format.ts';
import { parseLinks } from '../../../packages/watch/src/links/token-file.ts';
import { partsOf, routeRequest } from '../../../packages/watch/src/clash-api/serve/controller.ts';
import { formatToml } from '@weir/config/format/format-toml';
import { parseByteLimit, parseRateLimit, parseUntil } from '@weir/config/limits';
import { readLimits } from '@weir/config/limits/read-limits';
import { parseToml } from '@weir/config/toml';
import { parseResolvConf } from '@weir/proxy/dns/system';
import {
  geoipMatches,
  geoipSummaries,
  geositeMatches,
  geositeSummaries,
} from '@weir/proxy/geo-files';
import { formatIP, ipVersion, parseCidr, parseIP } from '@weir/base/ip';
import { normalizeHost } from '@weir/io/addresses';
import {
  decodeEarlyData,
  hostWithoutPort,
  pathMatches,
  splitWsPath,
} from '@weir/proxy/transports/ws/handshake';
import { hostSources, readHosts } from '../../../packages/proxy/src/dns/system/host-config.ts';
import { findEntries } from '../../../packages/proxy/src/engine/geo/find-entries.ts';
import { type ByteSource, bytesSource } from '../../../packages/proxy/src/engine/geo/geo-data.ts';
import {
  readGeoip,
  readGeosite,
  SITE_CODE,
} from '../../../packages/proxy/src/engine/geo/geo-lists.ts';
import { DomainSniffer, sniffDomain } from '../../../packages/proxy/src/engine/sniff.ts';
import { encodeGeoip, encodeGeosite } from '../../support/data/geo-fixture.ts';
import { OPENSSL, refragment } from '../../support/engine/sniff/client-hello.ts';
import { shown } from './stream-outcome.ts';
import { chunksOf, type FuzzTarget, textSamples } from './target.ts';

const sniffing: FuzzTarget = {
  name: 'sniffing',
  files: ['proxy/engine/sniff.ts'],
  samples: [
    ...Object.values(OPENSSL),
    refragment(OPENSSL.tls12, 20),
    ...textSamples(
      'GET / HTTP/1.1\r\nAccept: */*\r\nHost: A.example:8080\r\n\r\n',
      'POST http://b.example/x HTTP/1.1\r\nHost: [::1]\r\n\r\n',
    ),
  ],
  share: 1,
  run: (input, random) => {
    const whole = sniffDomain(input);
    if (whole.done && whole.domain !== undefined) {
      assert.match(whole.domain, /^(?!.*\.\.)[a-z0-9_-][a-z0-9_.-]{0,252}$/);
      assert.doesNotMatch(whole.domain, /(^|\.)[0-9]+$/);
    }
    // What is decided for a part stays so for the whole.
    const sniffer = new DomainSniffer();
    let seen = 0;
    for (const chunk of chunksOf(input, random)) {
      seen += chunk.length;
      const soFar = input.subarray(0, seen);
      const found = sniffer.look(soFar);
      assert.deepEqual(found, sniffDomain(soFar));
      if (!found.done) continue;
      assert.deepEqual(found, whole);
      return;
    }
  },
};

const geoFiles: FuzzTarget = {
  name: 'geo-files',
  files: [
    'proxy/engine/geo/find-entries.ts',
    'proxy/engine/geo/geo-lists.ts',
    'proxy/engine/geo/wire-reader.ts',
    'proxy/engine/geo/geo-files.ts',
  ],
  samples: [
    encodeGeosite([
      {
        code: 'GOOGLE',
        domains: [
          { type: 'root', value: 'google.example', attributes: { cn: true, ads: 3 } },
          { type: 'regex', value: '^a.*b$' },
          { type: 'plain', value: 'goo' },
          { type: 'full', value: 'www.google.example' },
        ],
      },
      { code: 'CN', domains: [] },
    ]),
    encodeGeoip([
      { code: 'DE', networks: [{ ip: [192, 0, 2, 0], prefix: 24 }] },
      { code: 'US', networks: [{ ip: Buffer.alloc(16, 1), prefix: 64 }], inverse: true },
    ]),
  ],
  share: 0.1,
  run: async (input, random) => {
    const source = bytesSource(input);
    const host = random.chance(0.5) ? 'www.google.example' : '192.0.2.1';
    const readers = [
      () => geositeSummaries(source),
      () => geoipSummaries(source),
      () => geositeMatches(source, host),
      () => geoipMatches(source, host),
      () => entriesOf(source),
    ];
    const all = readers[random.below(readers.length)]?.() ?? [];
    for await (const found of all) assert.ok(found);
  },
};

async function* entriesOf(source: ByteSource) {
  const found = await findEntries(source, new Set(['google', 'cn', 'de']), SITE_CODE);
  for (const message of found.values()) {
    yield readGeosite(message, [undefined, 'cn']);
    yield readGeoip(message);
  }
}

const TOML = textSamples(
  '[[inbound]]\ntag = "a"\nlisten = "127.0.0.1:1080"\nprotocol = "socks"\n[inbound.settings]\naccounts = [{ user = "a", pass = \'b\' }]\n',
  'a.b."c d" = 1\nx = [1, 2.5, nan, -inf, 0x1F, 0o7, 0b1, 1_000]\nd = 1979-05-27T07:32:00.5Z\n',
  's = """\nmany\\\n  lines \\u00e9"""\nl = \'\'\'\nraw\'\'\'\nt = { a = [ { b = true } ] } # end\n',
  '[route]\n[[route.rule]]\ndomain = ["a.example", "*.b"]\noutbound = "direct"\n',
);

const toml: FuzzTarget = {
  name: 'toml',
  files: [
    'config/toml/parse.ts',
    'config/toml/slices.ts',
    'config/toml/long-strings.ts',
    'config/toml/tree.ts',
  ],
  samples: TOML,
  share: 0.04,
  run: (input, random) => {
    const text = input.toString();
    const sliceLength = random.chance(0.5) ? 1 + random.below(64) : undefined;
    parseToml(text, sliceLength);
    formatToml(text);
  },
};

const limits: FuzzTarget = {
  name: 'limits',
  files: [
    'config/limits/amounts.ts',
    'config/limits/limits-file.ts',
    'config/limits/read-limits.ts',
  ],
  samples: textSamples(
    '[[limit]]\nuser = "a"\nbytes = "1.5 GB"\nreset = "weekly"\nuntil = 2027-01-31\ndevices = 3\n',
    '[[limit]]\nusers = ["a", "*"]\nup = "10 Mbit/s"\ndown = "1 MB/s"\n',
    '100 GiB',
    '20 kbps',
    '2027-01-31T12:00:00.5+01:00',
  ),
  share: 0.04,
  run: async (input) => {
    const text = input.toString();
    for (const parse of [parseByteLimit, parseRateLimit, parseUntil]) {
      const parsed = parse(text);
      assert.ok(typeof parsed !== 'number' || Number.isFinite(parsed));
    }
    await readLimits('limits.toml', { read: () => Promise.resolve(input) });
  },
};

const isAllowed = bearerCheck('secret');
const apiPlace = addressPlace(80);
const hasSecret = (header: string): boolean =>
  header.slice(0, 7).toLowerCase() === 'bearer ' &&
  header.slice(7).replaceAll(/^[ \t]+|[ \t]+$/g, '') === 'secret';

function checkIfMatch(text: string): void {
  const condition = parseIfMatch(text);
  if (condition.kind === 'is') assert.match(condition.etag, /^"[^",]*"$/);
  else assert.equal(text.trim(), '*');
}

const apiRequests: FuzzTarget = {
  name: 'api-requests',
  files: [
    'server/api/requests.ts',
    'server/api/http/request-filter.ts',
    'server/local-http/guard.ts',
    'server/local-http/router.ts',
  ],
  samples: textSamples(
    '/v1/connections/18446744073709551615?x=%20y&session=1',
    '{"outbound": "direct", "x": [1, {"y": "\\ud83d\\ude00"}]}',
    '"outbound"',
    'Bearer secret',
    '"etag"',
    'session=3&inbound=a&user=b%2Bc',
    'http://localhost:80',
    '[::1]:9090',
  ),
  share: 1,
  run: (input, random) => {
    const text = shown(input);
    switch (random.below(8)) {
      case 0:
        parsePickBody(input);
        return;
      case 1:
        parseSelector(text);
        return;
      case 2:
        checkIfMatch(text);
        return;
      case 3:
        textParameter('tag', text);
        return;
      case 4:
        u64Parameter('id', text);
        return;
      case 5:
        splitRequestTarget(text);
        return;
      case 6:
        apiPlace.isOwnHost(text);
        apiPlace.isOwnOrigin(text, text);
        return;
      default:
        assert.equal(isAllowed(text), hasSecret(text));
    }
  },
};

const clashRequests: FuzzTarget = {
  name: 'clash-api-requests',
  files: ['watch/clash-api/serve/controller.ts'],
  samples: textSamples(
    '/proxies/a%20b/delay',
    '/connections/1',
    '/',
    '/providers/proxies/x/healthcheck',
    '/logs',
  ),
  share: 0.5,
  run: (input, random) => {
    const method = ['GET', 'PUT', 'PATCH', 'DELETE'][random.below(4)] ?? 'GET';
    const parts = partsOf(shown(input));
    if (parts) routeRequest(method, parts, random.chance(0.5));
  },
};

const webSocketRequests: FuzzTarget = {
  name: 'websocket-requests',
  files: ['proxy/transports/ws/handshake.ts', 'proxy/transports/ws/upgrade.ts'],
  samples: textSamples(
    '/path?ed=2048&x=y',
    'aGVsbG8',
    '/a%2Fb',
    '[2001:db8::1]:443',
    'a.example:443',
  ),
  share: 1,
  run: (input) => {
    const text = shown(input);
    splitWsPath(text);
    decodeEarlyData(text);
    pathMatches(text, '/path');
    hostWithoutPort(text);
  },
};

const addressTexts: FuzzTarget = {
  name: 'address-texts',
  files: ['base/ip/addresses.ts', 'io/net/addresses/addresses.ts'],
  samples: textSamples(
    '192.0.2.1',
    '2001:db8::1%eth0',
    '::ffff:192.0.2.1',
    '10.0.0.0/8',
    'b\u00fccher.example',
    'a.example.',
  ),
  share: 1,
  run: (input) => {
    const text = input.toString();
    const bytes = parseIP(text);
    if (bytes) assert.deepEqual(parseIP(formatIP(bytes)), bytes);
    parseCidr(text);
    const host = normalizeHost(text);
    if (host !== undefined) assert.equal(normalizeHost(host), host);
  },
};

const systemFiles: FuzzTarget = {
  name: 'resolver-files',
  files: ['proxy/dns/system/system-resolvers.ts', 'proxy/dns/system/host-config.ts'],
  samples: textSamples(
    'nameserver 192.0.2.1\nnameserver fe80::1%eth0\nsearch a.example b\noptions ndots:2 timeout:1\n',
    'hosts: files [NOTFOUND=return] mymachines dns # x\n',
    '127.0.0.1 localhost a\n::1 localhost # x\n',
  ),
  share: 0.02,
  run: async (input) => {
    const text = input.toString();
    parseResolvConf(text, { localDomain: undefined, resOptions: text, hostname: 'h.example' });
    hostSources(text);
    await readHosts(Readable.from([input]));
  },
};

const linkRequests: FuzzTarget = {
  name: 'link-requests',
  files: ['watch/links/client-address.ts', 'watch/links/format.ts', 'watch/links/token-file.ts'],
  samples: textSamples(
    '203.0.113.9, 198.51.100.1:443, [2001:db8::1]:1, 127.0.0.1',
    'HiddifyNext/2.0.5 (windows) like ClashMeta v2ray sing-box',
    '{"version":1,"base":"https://a.example/","links":[{"user":"ann","token":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","created":"2026-11-29T00:00:00.000Z"}]}',
  ),
  share: 1,
  run: (input) => {
    const text = input.toString('latin1');
    const client = clientAddress('127.0.0.1', text, (address) => address.startsWith('127.'));
    assert.notEqual(ipVersion(client ?? ''), 0);
    formatFor(text, text);
    formatNamed(text);
    for (const { token } of parseLinks('links.json', input).tokens.values()) {
      assert.match(token, /^[\w-]{43}$/);
    }
  },
};

/** Texts and files. */
export const TEXTS: readonly FuzzTarget[] = [
  sniffing,
  geoFiles,
  toml,
  limits,
  apiRequests,
  clashRequests,
  webSocketRequests,
  addressTexts,
  systemFiles,
  linkRequests,
];
