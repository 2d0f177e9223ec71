import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { written } from '../../../../../test/support/import/written.ts';

const ID = 'b831381d-6324-4d53-ad4f-8cda48b30811';
const OTHER = 'b831381d-6324-4d53-ad4f-8cda48b30812';

describe('the name of a user', () => {
  const outbounds = [{ protocol: 'freedom', tag: 'direct' }];
  const xray = (protocol: string, clients: readonly object[]): string =>
    JSON.stringify({
      inbounds: [{ tag: 'in', port: 1080, protocol, settings: { clients, decryption: 'none' } }],
      outbounds,
    });
  const singBox = (type: string, users: readonly object[]): string =>
    JSON.stringify({
      inbounds: [{ type, tag: 'in', listen: '127.0.0.1', listen_port: 1080, users }],
      outbounds: [{ type: 'direct', tag: 'direct' }],
    });

  for (const [what, document] of [
    [
      'VLESS of Xray',
      xray('vless', [
        { id: ID, email: 'ann@x' },
        { id: OTHER, email: '' },
      ]),
    ],
    ['VMess of Xray', xray('vmess', [{ id: ID, email: 'ann@x' }, { id: OTHER }])],
    ['VLESS of sing-box', singBox('vless', [{ uuid: ID, name: 'ann@x' }, { uuid: OTHER }])],
    ['VMess of sing-box', singBox('vmess', [{ uuid: ID, name: 'ann@x' }, { uuid: OTHER }])],
  ] as const) {
    test(`is a comment beside its id: ${what}`, async () => {
      const { text } = await written(document);
      assert.ok(
        text.includes(`users = [\n  { id = "${ID}" }, # name: ann@x\n  { id = "${OTHER}" },\n]`),
        text,
      );
    });
  }

  test('stays on its line, whatever it has', async () => {
    const name = 'a\n]\u2028\u0000 # "b" \ud800';
    const { text } = await written(xray('vless', [{ id: ID, email: name }]));
    const line = text.split('\n').find((each) => each.includes('# name:'));
    assert.match(line ?? '', /^ {2}\{ id = "[^"]*" \}, # name: a.*# "b"/);
    // oxlint-disable-next-line no-control-regex -- it asks for control characters
    assert.doesNotMatch(text.replaceAll('\n', ''), /[\u0000-\u001f\u2028\ud800]/);
  });
});

describe('a message of a provider', () => {
  const node = (name: string): string =>
    `- {name: "${name}", type: trojan, server: a.test, port: 443, password: x}\n`;

  for (const type of ['url-test', 'fallback', 'load-balance', 'select']) {
    test(`is no member of a group: ${type}`, async () => {
      const { text, report } = await written(
        `proxies:\n${node('Traffic: 12 GB')}${node('Expires 2027-01-01')}${node('Osaka')}${node('Tokyo')}` +
          `proxy-groups:\n- {name: g, type: ${type}, proxies: ["Traffic: 12 GB", Osaka, "Expires 2027-01-01", Tokyo]}\nrules: ["MATCH,g"]\n`,
      );
      if (type === 'select') assert.match(text, /^default = "Osaka"$/m);
      else assert.match(text, /^outbounds = \["Osaka", "Tokyo"\]$/m);
      const group = report.items.find(({ part }) => part === 'group');
      assert.ok(group?.notes.some((note) => note.startsWith('2 of its members are messages')));
    });
  }

  test('is no server of a document, unless a rule names it', async () => {
    const { text, report } = await written(
      `proxies:\n${node('Traffic: 12 GB')}${node('Expires 2027-01-01')}${node('Osaka')}` +
        `rules: ["DOMAIN,a.test,Expires 2027-01-01", "MATCH,Osaka"]\n`,
    );
    assert.deepEqual(text.match(/(?<=^tag = ")(?:Traffic|Expires|Osaka)/gm), ['Expires', 'Osaka']);
    const left = report.items.find(({ source }) => source === 'Traffic: 12 GB');
    assert.equal(left?.status, 'skipped');
  });

  test('stays the default of a group that has nothing else', async () => {
    const { text } = await written(
      `proxies:\n${node('Traffic: 12 GB')}proxy-groups:\n- {name: g, type: select, proxies: ["Traffic: 12 GB"]}\nrules: ["MATCH,g"]\n`,
    );
    assert.match(text, /^default = "Traffic: 12 GB"$/m);
  });
});

describe('a rule of Xray with a list that cannot be carried over', () => {
  const document = (rule: object, last = 'proxy'): string =>
    JSON.stringify({
      outbounds: [
        ...(last === 'direct' ? [{ protocol: 'freedom', tag: 'direct' }] : []),
        {
          protocol: 'trojan',
          tag: 'proxy',
          settings: { servers: [{ address: 'a.test', port: 443, password: 'x' }] },
        },
        ...(last === 'direct' ? [] : [{ protocol: 'freedom', tag: 'direct' }]),
      ],
      routing: { rules: [{ outboundTag: 'direct', ...rule }] },
    });

  test('has its other entries, and names the list', async () => {
    const { text, report } = await written(
      document({ domain: ['geosite:cn', 'domain:x.test', 'full:y.test'] }),
    );
    assert.match(text, /domain_suffix = \["x\.test"\]/);
    assert.match(text, /domain_full = \["y\.test"\]/);
    assert.doesNotMatch(text, /geosite/);
    const rule = report.items.find(({ part }) => part === 'rule');
    assert.equal(rule?.status, 'changed');
    assert.ok(rule.notes.some((note) => /"geosite:cn" is left out of it/.test(note)));
  });

  test('has its other conditions in each of them', async () => {
    const { text } = await written(
      document({ domain: ['geosite:cn', 'domain:x.test'], port: '443' }),
    );
    assert.match(text, /domain_suffix = \["x\.test"\]\nport = \["443"\]|port = \["443"\]\ndomain/);
  });

  test('is left out where nothing else is in it', async () => {
    const { report } = await written(document({ domain: ['geosite:cn'] }));
    assert.equal(report.items.find(({ part }) => part === 'rule')?.status, 'skipped');
  });

  test('does not send directly what the list would have sent to a server', async () => {
    const { text } = await written(
      document({ domain: ['geosite:cn', 'domain:x.test'], outboundTag: 'proxy' }, 'direct'),
    );
    assert.match(text, /^default = "blackhole"$/m);
  });
});
