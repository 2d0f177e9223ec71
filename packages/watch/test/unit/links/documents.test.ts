import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { parse as parseYaml } from 'yaml';
import { loadConfigFile } from '@weir/server/loading';
import { readForeign } from '@weir/nodes/import';
import type { Shared } from '@weir/nodes/share';
import { linkDocument } from '../../../src/links/documents.ts';
import { LINK_FORMATS } from '../../../src/links/format.ts';
import { PAGE_HEADERS, pageText } from '../../../src/links/page.ts';
import '../../../../../test/support/import/load-forms.ts';

const TLS = { serverName: 'proxy.example.com', insecure: false, certificate: undefined };

const shared = (name: string, port: number, access: Shared['server']['access']): Shared => ({
  inbound: name,
  user: 'ann',
  aliases: [],
  server: { name: `proxy.example.com ${name} ann`, host: 'proxy.example.com', port, access },
});

const SERVERS: readonly Shared[] = [
  shared('vless', 443, {
    protocol: 'vless',
    settings: { id: 'b831381d-6324-4d53-ad4f-8cda48b30811' },
    stream: { tls: TLS, carrier: { kind: 'ws', path: '/path', host: undefined } },
  }),
  shared('trojan', 8443, {
    protocol: 'trojan',
    settings: { password: 'secret "of" ann <&>' },
    stream: { tls: TLS, carrier: { kind: 'raw' } },
  }),
  shared('hysteria2', 443, {
    protocol: 'hysteria2',
    settings: { password: 'ann:secret' },
    tls: TLS,
  }),
];

const FORMATS = LINK_FORMATS.filter((format) => format !== 'page');
const PLACES = ['443', '8443', '443'];

describe('the servers of a user', () => {
  for (const format of FORMATS.filter((each) => each !== 'weir')) {
    test(`are all in ${format}, as weir import and weir subscribe read it`, () => {
      const { text } = linkDocument(SERVERS, format);
      const drafts = readForeign(text).entries.flatMap(({ draft }) => (draft ? [draft] : []));
      const servers = drafts.filter(({ server }) => server === 'proxy.example.com');
      assert.deepEqual(
        servers.map(({ port }) => String(port)),
        PLACES,
      );
      assert.deepEqual(
        servers.map(({ protocol }) => protocol),
        SERVERS.map(({ inbound }) => inbound),
      );
    });
  }

  test('are a configuration of Weir', async () => {
    const { text } = linkDocument(SERVERS, 'weir');
    const { spec } = await loadConfigFile('client.toml', { bytes: Buffer.from(text) });
    assert.deepEqual(
      spec.outbounds.map(({ tag }) => tag).slice(0, 3),
      SERVERS.map(({ server }) => server.name),
    );
  });

  test('are chosen from in groups of a profile that sends everything through them', () => {
    const clash = parseYaml(linkDocument(SERVERS, 'clash').text) as {
      readonly 'proxy-groups': readonly { readonly name: string; readonly proxies: string[] }[];
      readonly rules: readonly string[];
    };
    const names = SERVERS.map(({ server }) => server.name);
    assert.deepEqual(clash['proxy-groups'][0]?.proxies, ['fastest', ...names]);
    assert.equal(clash.rules.at(-1), 'MATCH,proxy');
    const singBox = JSON.parse(linkDocument(SERVERS, 'sing-box').text) as {
      readonly route: { readonly final: string };
      readonly outbounds: readonly { readonly tag: string; readonly outbounds?: string[] }[];
    };
    assert.equal(singBox.route.final, 'proxy');
    assert.deepEqual(singBox.outbounds[0]?.outbounds, ['fastest', ...names]);
  });

  test('that a form cannot express are left out, and none is an error', () => {
    for (const format of FORMATS) {
      assert.throws(() => linkDocument([], format), { code: 'share' }, format);
    }
  });
});

describe('the page of a user', () => {
  const page = {
    title: 'Home & <b>garden</b>',
    user: '"ann" <script>',
    url: `https://proxy.example.com/${'x'.repeat(43)}`,
    quota: { upload: 1e9, download: 2e9, total: 1e11, expire: Date.UTC(2027, 1, 1) / 1000 },
    servers: SERVERS,
  };
  const text = pageText(page);

  test('escapes all texts', () => {
    assert.match(text, /<h1>Home &amp; &lt;b&gt;garden&lt;\/b&gt;<\/h1>/);
    assert.match(text, /Servers of &quot;ann&quot; &lt;script&gt;\./);
    assert.doesNotMatch(text, /<script|<b>/);
  });

  test('shows what is used and left', () => {
    assert.match(text, /3\.0 GB of 100 GB used, works until 2027-01-31/);
    assert.match(text, /<progress max="100000000000" value="3000000000">/);
    assert.doesNotMatch(pageText({ ...page, quota: undefined }), /progress max|used/);
  });

  test('has links that programs take, and a QR code', () => {
    const hrefs = Array.from(text.matchAll(/href="([^"]+)"/g), ([, href = '']) => href);
    const code = encodeURIComponent(page.url);
    assert.ok(
      hrefs.some((href) => href.startsWith(`clash://install-config?url=${code}&amp;name=`)),
    );
    assert.ok(
      hrefs.some((href) => href.startsWith(`sing-box://import-remote-profile?url=${code}#`)),
    );
    assert.ok(hrefs.includes('?format=weir'));
    assert.match(text, /<svg /);
  });

  test('loads nothing, and its policy allows its one style alone', () => {
    assert.doesNotMatch(text, /\ssrc=|@import|url\(|javascript:/);
    const style = /<style>([\s\S]*)<\/style>/.exec(text)?.[1] ?? '';
    const hash = createHash('sha256').update(style).digest('base64');
    const policy = PAGE_HEADERS['Content-Security-Policy'];
    assert.ok(policy.startsWith(`default-src 'none'; style-src 'sha256-${hash}';`));
  });
});
