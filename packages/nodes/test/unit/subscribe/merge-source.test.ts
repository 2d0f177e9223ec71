import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseToml } from '@weir/config/toml';
import { NEW_FILE } from '../../../src/subscribe/nodes/node-file.ts';
import { link, merged, namesIn } from '../../../../../test/support/subscribe/nodes.ts';

const NOTHING = { added: [], removed: [], changed: [], kept: [] };

describe('merging the nodes of a source', () => {
  test('writes nodes with a marker into an empty file', async () => {
    const { text, difference } = await merged('', [link('A')]);
    assert.equal(
      text,
      `${NEW_FILE}
# source: home
[[proxy_server]]
name = "A"
protocol = "trojan"
server = "a.example"
port = 443
[proxy_server.stream]
network = "tls"
[proxy_server.settings]
password = "pw-A"
`,
    );
    assert.deepEqual(difference, { ...NOTHING, added: ['A'], same: 0 });
  });

  test('does not exchange two nodes that differ in their settings alone', async () => {
    const list = [link('A', 'a', '?sni=x.example'), link('A', 'a')];
    const { text } = await merged('', [link('A', 'a'), link('B', 'b')]);
    const both = await merged(text, list);
    assert.equal((await merged(both.text, list)).text, both.text);
  });

  test('keeps the name of a node that the source renames, and its tables', async () => {
    const { text } = await merged('', [link('A'), link('B')]);
    const renamed = await merged(text, [link('New', 'A'), link('B')]);
    assert.deepEqual(namesIn(renamed.text), ['A@a', 'B@b']);
    assert.match(renamed.text, /^# source: home; there: "New"\n\[\[proxy_server\]\]\nname = "A"$/m);
    assert.deepEqual(renamed.difference, { ...NOTHING, same: 2 });
    assert.equal((await merged(renamed.text, [link('A'), link('B')])).text, text);
  });

  test('leaves a file without its nodes as it was before them', async () => {
    const own = '# mine\n\n[[route_group]]\nname = "G"\n';
    const { text } = await merged(own, [link('A'), link('B')]);
    assert.equal((await merged(text, [])).text, own);
  });

  test('keeps a node that is gone and in use, says since when, and removes it later', async () => {
    const { text } = await merged('', [link('A'), link('B')]);
    const kept = await merged(text, [link('B')], { inUse: ['A'], now: '2026-01-01' });
    assert.deepEqual(namesIn(kept.text), ['A@a', 'B@b']);
    assert.match(
      kept.text,
      /^# source: home; kept: in use, and gone from the source since 2026-01-01$/m,
    );
    assert.deepEqual(kept.difference, { ...NOTHING, kept: ['A'], same: 1 });
    const later = await merged(kept.text, [link('B')], { inUse: ['A'], now: '2026-02-02' });
    assert.equal(later.text, kept.text);
    const back = await merged(kept.text, [link('A'), link('B')], { inUse: ['A'] });
    assert.equal(back.text, text);
    const unused = await merged(kept.text, [link('B')]);
    assert.deepEqual(namesIn(unused.text), ['B@b']);
    assert.deepEqual(unused.difference, { ...NOTHING, removed: ['A'], same: 1 });
  });

  test('gives a new node a name that nothing else has', async () => {
    const first = await merged('', [link('A'), link('A', 'a2'), link('out'), link('direct')], {
      taken: ['out'],
    });
    assert.deepEqual(namesIn(first.text), [
      'A@a',
      'A 2@a2',
      'out (home)@out',
      'direct (home)@direct',
    ]);
    const { text } = await merged(first.text, [link('A', 'w'), link('A', 'w2')], {
      source: 'work',
    });
    assert.deepEqual(namesIn(text).slice(4), ['A (work)@w', 'A (work) 2@w2']);
  });

  test('leaves a node that no source has written, and adds that of the list beside it', async () => {
    const { text } = await merged('', [link('A'), link('B')]);
    const own = text.replaceAll('# source: home\n', '').replace('"A"', '"Mine"');
    const both = await merged(own, [link('A'), link('B')], { source: 'work' });
    assert.deepEqual(namesIn(both.text), ['Mine@a', 'B@b', 'A@a', 'B (work)@b']);
    assert.ok(both.text.startsWith(own));
    assert.deepEqual(both.twins, [
      { name: 'A', own: 'Mine' },
      { name: 'B (work)', own: 'B' },
    ]);
    const again = await merged(both.text, [link('A'), link('B')], { source: 'work' });
    assert.deepEqual([again.text, again.twins], [both.text, []]);
    assert.equal((await merged(both.text, [], { source: 'work' })).text, own);
  });

  test('takes over what weir import has written, unless a user has changed it', async () => {
    const { text } = await merged('', [link('A'), link('B'), link('C')]);
    const imported = text
      .replaceAll('# source: home', '# source: (import)')
      .replace('"A"', '"Renamed"')
      .replace(
        /(name = "C"[^]*)network = "tls"\n/,
        '$1network = "tls"\ntls = { ca_file = "my.pem" }\n',
      );
    const taken = await merged(imported, [link('A'), link('B'), link('C')]);
    assert.deepEqual(namesIn(taken.text), ['Renamed@a', 'B@b', 'C@c', 'C (home)@c']);
    assert.deepEqual([taken.adopted, taken.lowered], [['Renamed', 'B'], []]);
    assert.deepEqual(taken.twins, [{ name: 'C (home)', own: 'C' }]);
    assert.match(taken.text, /^# source: \(import\)\n.*\nname = "C"$[^]*ca_file = "my\.pem"/m);
    const later = await merged(taken.text, [link('B')]);
    assert.deepEqual(namesIn(later.text), ['B@b', 'C@c']);
  });

  for (const [what, before, after, expected] of [
    ['any certificate', '', '?allowInsecure=1', [{ name: 'A', before: 'public', after: 'any' }]],
    ['no TLS', '?allowInsecure=1', '?security=none', [{ name: 'A', before: 'any', after: 'none' }]],
    ['a check again', '?allowInsecure=1', '', []],
    ['another name', '', '?sni=x.example', []],
  ] as const) {
    test(`reports TLS that is lowered, when a source changes a node to ${what}`, async () => {
      const { text } = await merged('', [link('A', 'a', before)]);
      const { difference, lowered } = await merged(text, [link('A', 'a', after)]);
      assert.deepEqual([difference.changed, lowered], [['A'], expected]);
    });
  }

  test('reports a ca_file that a source takes from a node of its own', async () => {
    const { text } = await merged('', [link('A')]);
    const edited = text.replace('network = "tls"', 'network = "tls"\ntls = { ca_file = "my.pem" }');
    assert.deepEqual((await merged(edited, [link('A')])).lowered, [
      { name: 'A', before: 'own', after: 'public' },
    ]);
  });

  test('does not touch other sources, groups, comments and CRLF line ends', async () => {
    const { text: work } = await merged('', [link('W')], { source: 'work' });
    const own = `${work}\r\n# about groups\r\n[[route_group]]\r\nname = "G"\r\n[[route_group.rule]]\r\nport = ["1"]\r\n`;
    const { text } = await merged(own, [link('A')]);
    assert.ok(text.startsWith(own));
    assert.equal((await merged(text, [])).text, own);
  });

  test('keeps a comment above a node that goes, apart from what follows', async () => {
    const { text: nodes } = await merged('', [link('A'), link('B')]);
    const text = nodes.replace('\n# source: home', '# mine\n# source: home');
    const groups = '# about groups\n[[route_group]]\nname = "G"\n';
    const without = await merged(text + groups, []);
    assert.equal(without.text, `${NEW_FILE}# mine\n\n${groups}`);
  });

  test('writes hostile names so that they stay text', async () => {
    const names = ['"]\n[api]\n', '\u001b[31mred', '\u202Eevil', '# source: work', '\0', '\\u0000'];
    const { text } = await merged(
      '',
      names.map((name, index) => link(name, `s${index}`)),
    );
    assert.deepEqual([...parseToml(text).entries.keys()], ['proxy_server']);
    // oxlint-disable-next-line no-control-regex -- which is what must not be there
    assert.doesNotMatch(text, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    const again = await merged(
      text,
      names.map((name, index) => link(name, `s${index}`)),
    );
    assert.equal(again.text, text);
  });
});
