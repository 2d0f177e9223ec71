import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readForeign } from '../../../src/import/document.ts';
import '../../../../../test/support/import/load-forms.ts';

const ID = 'b831381d-6324-4d53-ad4f-8cda48b30811';

const vless = (tag: string, address: string): object => ({
  tag,
  protocol: 'vless',
  settings: { vnext: [{ address, port: 443, users: [{ id: ID, encryption: 'none' }] }] },
});

/** A configuration as panels send one for each server. */
const config = (remarks: string | null, address: string): object => ({
  remarks,
  inbounds: [{ tag: 'socks', port: 10_808, protocol: 'socks' }],
  outbounds: [
    vless('proxy', address),
    { tag: 'direct', protocol: 'freedom' },
    { tag: 'block', protocol: 'blackhole' },
  ],
});

const singBox = (tag: string, server: string): object => ({
  type: 'shadowsocks',
  tag,
  server,
  server_port: 443,
  method: 'aes-128-gcm',
  password: 'x',
});

/** The names of the servers of a document, and of what is left out in brackets. */
const namesIn = (text: string): readonly string[] =>
  readForeign(text).entries.map(
    (entry) => entry.draft?.name ?? `(${'name' in entry ? entry.name : ''})`,
  );

describe('a document of JSON', () => {
  const plain = JSON.stringify(config(null, 'a.test'), null, 2);

  for (const [what, text] of [
    ['# in front', `# my file\n${plain}`],
    ['// in front', `// my file\n# of mine\n${plain}`],
    ['/* */ in front', `/* [x] */ ${plain}`],
    ['# behind a line', plain.replace('"vless",', '"vless", # the "server')],
    ['# at its end', `${plain}\n# end`],
    ['a comment in front of a list', `# my list\n[ // of one\n${plain}]`],
    ['a byte order mark', `\uFEFF${plain}`],
  ] as const) {
    test(`may have ${what}`, () => assert.ok(namesIn(text).includes('proxy')));
  }

  test('has a number sign and slashes in its texts', () => {
    const path = '/a#b//c/*d';
    const outbound = {
      ...vless('a', 'a.test'),
      streamSettings: { network: 'ws', wsSettings: { path } },
    };
    const [entry] = readForeign(`# x\n${JSON.stringify({ outbounds: [outbound] })}`).entries;
    assert.equal(entry?.draft?.stream?.ws?.['path'], path);
  });

  test('is no list where a file of WireGuard begins with a comment', () => {
    const { kind } = readForeign(
      '# mine\n[Interface]\nPrivateKey = a\nAddress = 10.0.0.2\n[Peer]\nPublicKey = b\nEndpoint = a:1\n',
    );
    assert.equal(kind, 'a wg-quick file');
  });
});

describe('a list in JSON', () => {
  test('of configurations of Xray has a server of each, by its remarks', () => {
    const text = JSON.stringify([config('one', 'a.test'), config('two', 'b.test')], null, 2);
    const { kind, entries, keys } = readForeign(text);
    assert.equal(kind, 'a list of configurations of Xray or v2ray');
    assert.deepEqual(
      entries.map(({ draft }) => [draft?.name, draft?.server]),
      [
        ['one', 'a.test'],
        ['two', 'b.test'],
      ],
    );
    assert.deepEqual(
      keys.map(({ path, status }) => [path, status]),
      [
        ['[0]', 'skipped'],
        ['[1]', 'skipped'],
      ],
    );
  });

  test('of one configuration of which another is odd has the others', () => {
    for (const odd of [null, 1, {}, { remarks: 'x', outbounds: [] }, []]) {
      assert.deepEqual(
        namesIn(JSON.stringify([config('one', 'a.test'), odd, config('two', 'b.test')])),
        ['one', '([1])', 'two'],
        JSON.stringify(odd),
      );
    }
  });

  test('of configurations with several servers has all of them', () => {
    const both = { remarks: 'r', outbounds: [vless('p', 'a.test'), vless('q', 'b.test')] };
    assert.deepEqual(namesIn(JSON.stringify([both])), ['r', 'r q']);
  });

  test('of configurations of sing-box, or without remarks, has their tags', () => {
    const boxed = { outbounds: [singBox('a', 'a.test'), { type: 'direct', tag: 'd' }] };
    assert.deepEqual(namesIn(JSON.stringify([boxed, boxed])), ['a', 'a']);
    assert.deepEqual(namesIn(JSON.stringify([config(null, 'a.test')])), ['proxy']);
  });

  test('of outbounds, or one alone, has them', () => {
    for (const [value, names] of [
      [
        [vless('a', 'a.test'), vless('b', 'b.test')],
        ['a', 'b'],
      ],
      [
        [singBox('a', 'a.test'), singBox('b', 'b.test')],
        ['a', 'b'],
      ],
      [
        [vless('a', 'a.test'), 1],
        ['a', '()'],
      ],
      [vless('a', 'a.test'), ['a']],
      [singBox('a', 'a.test'), ['a']],
    ] as const) {
      assert.deepEqual(namesIn(JSON.stringify(value)), names);
    }
  });

  test('of links has them', () =>
    assert.deepEqual(namesIn('["trojan://x@a.test:1#A", "nonsense", "trojan://x@b.test:1#B"]'), [
      'A',
      '(line 2)',
      'B',
    ]));

  test('of something else, or of nothing, is refused', () => {
    for (const text of ['[]', '[1]', '[[]]', '["x"]', '[{"a": 1}]', '[null]']) {
      assert.throws(() => readForeign(text), { name: 'ImportError' }, text);
    }
  });
});

test('one configuration with remarks has its server by that name, and its rules by the tag', () => {
  const text = JSON.stringify({
    ...config('My server', 'a.test'),
    routing: { rules: [{ domain: ['domain:x.test'], outboundTag: 'proxy' }] },
  });
  const { entries, rules } = readForeign(text);
  assert.equal(entries[0]?.draft?.name, 'My server');
  const [rule] = rules;
  assert.ok(rule && 'any' in rule);
  assert.deepEqual(rule.target, { kind: 'entry', index: 0 });
});

test('a configuration of Clash may be JSON', () => {
  const proxies = [{ name: 'a', type: 'trojan', server: 'a.test', port: 443, password: 'x' }];
  const { kind, entries } = readForeign(JSON.stringify({ port: 7890, proxies, dns: null }));
  assert.equal(kind, 'a configuration of Clash or mihomo');
  assert.equal(entries[0]?.draft?.name, 'a');
});

describe('a file of wg-quick', () => {
  const conf = (more: string): string =>
    `[Interface]\nPrivateKey = a\nAddress = 10.0.0.2/32\n${more}\n[Peer]\nPublicKey = b\nEndpoint = a.test:1\n`;

  for (const more of ['Jc = 4', 'S1 = 15', 'H1 = 1234567', 'H2 = 1', 'I1 = <b 0x00>', 'S4 = 3']) {
    test(`of AmneziaWG is left out: ${more}`, () => {
      const [entry] = readForeign(conf(more)).entries;
      assert.match(entry?.skipped ?? '', /AmneziaWG is not supported$/);
    });
  }

  test('whose keys of AmneziaWG are those of WireGuard is one', () => {
    const more = 'Jc = 0\nS1 = 0\nS2 = 0\nH1 = 1\nH2 = 2\nH3 = 3\nH4 = 4\nI1 =';
    const [entry] = readForeign(conf(more)).entries;
    assert.equal(entry?.skipped, undefined);
    assert.deepEqual(entry?.draft && entry.notes, []);
  });
});
