import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readAnswer } from '../../../src/subscribe/answer/read-answer.ts';
import { ImportError } from '@weir/proxy/protocols/forms';
import { RefusedAnswerError, MOST_NODES } from '../../../src/subscribe/source.ts';
import { nodeNotes } from '../../../src/subscribe/update/notes.ts';
import { link } from '../../../../../test/support/subscribe/nodes.ts';

const read = (body: string | Uint8Array) =>
  readAnswer(Buffer.from(body), { fromThisMachine: false });

const at = (host: string, name: string): string =>
  `trojan://pw@${host}#${encodeURIComponent(name)}`;

/** A configuration of Clash with these proxies. */
const clash = (...proxies: readonly string[]): string =>
  ['proxies:', ...proxies.map((proxy) => `  - ${proxy}`)].join('\n');

const key = (octet: number): string => Buffer.alloc(32, octet).toString('base64');

const wireguard = (name: string, server: string, port = 51_820): string =>
  `{name: "${name}", type: wireguard, server: "${server}", port: ${port}, ip: 10.0.0.2, ` +
  `private-key: ${key(1)}, public-key: ${key(2)}, udp: true}`;

describe('the answer of a source', () => {
  test('has nodes, messages, and entries that cannot be used', async () => {
    const list = [
      link('Tokyo'),
      at('s.example:443', 'Traffic: 12 GB left'),
      at('127.0.0.1:443', 'Loop'),
      'vless://x@s.example:443?security=reality#Reality',
      'vless://no-uuid@s.example:443#Broken',
      link('Osaka'),
    ].join('\n');
    for (const body of [list, Buffer.from(list).toString('base64')]) {
      const { kind, nodes, information, leftOut } = await read(body);
      assert.equal(kind, 'share links');
      assert.deepEqual(
        nodes.map(({ there }) => there),
        ['Tokyo', 'Osaka'],
      );
      assert.deepEqual(information, ['Traffic: 12 GB left']);
      assert.deepEqual(leftOut.map(({ name }) => name).toSorted(), ['Broken', 'Loop', 'Reality']);
    }
  });

  test('has the nodes whose certificate is pinned by a hash, which a note is about', async () => {
    const list = [link('Tokyo'), at('s.example:443?pcs=00', 'Kyoto'), link('Osaka')];
    list.push('hysteria2://pw@h.example:443/?insecure=1&pinSHA256=00#Nara');
    const { nodes, pinned } = await read(list.join('\n'));
    const names = pinned.map((index) => nodes[index]?.there ?? '');
    assert.deepEqual(names, ['Kyoto', 'Nara']);
    assert.deepEqual(
      nodes.map(({ trust }) => trust),
      ['public', 'public', 'public', 'public'],
    );
    const none = { adopted: [], twins: [], lowered: [] };
    assert.match(
      nodeNotes('s', none, [], names).join('\n'),
      /^the list has hashes of certificates, .*self-signed ones refused: "Kyoto", "Nara"$/,
    );
  });

  test('has the nodes whose names are good beside one in broken UTF-8', async () => {
    const broken = Buffer.concat([
      Buffer.from(`${link('Tokyo')}\n${link('Kyoto')} `),
      Buffer.from('🇯🇵').subarray(0, 3),
      Buffer.from(`\n${link('Osaka')}`),
    ]);
    for (const body of [broken, Buffer.from(broken.toString('base64'))]) {
      const { nodes, leftOut } = await read(body);
      assert.deepEqual(
        nodes.map(({ there }) => there),
        ['Tokyo', 'Kyoto \uFFFD', 'Osaka'],
      );
      assert.deepEqual(leftOut, []);
    }
  });

  test('counts the groups and rules that it leaves behind', async () => {
    const { nodes, unused } = await read(
      [
        'proxies:',
        '  - {name: A, type: ss, server: s.example, port: 1443, cipher: aes-128-gcm, password: p}',
        'proxy-groups: [{name: G, type: select, proxies: [A]}]',
        'rules: ["DOMAIN-KEYWORD,ads,REJECT", "MATCH,G"]',
      ].join('\n'),
    );
    assert.equal(nodes.length, 1);
    assert.deepEqual(unused, { groups: 1, rules: 2 });
    assert.deepEqual((await read(link('Tokyo'))).unused, { groups: 0, rules: 0 });
  });

  test('names a node after its server when the source does not', async () => {
    const { nodes } = await read(
      ['trojan://pw@[2001:db8::1]:443', at('s.example:443', '   ')].join('\n'),
    );
    assert.deepEqual(
      nodes.map(({ there }) => there),
      ['[2001:db8::1]:443', 's.example:443'],
    );
    const unnamed = await read(clash(wireguard('', 'wg.example')));
    assert.deepEqual(
      unnamed.nodes.map(({ there }) => there),
      ['wireguard'],
    );
  });

  test('has tunnels of WireGuard, and no direct connections', async () => {
    const { nodes, leftOut } = await read(
      clash(wireguard('WG', 'wg.example'), '{name: D, type: direct}'),
    );
    assert.deepEqual(
      nodes.map(({ there }) => there),
      ['WG'],
    );
    assert.match(nodes[0]?.text('here') ?? '', /^endpoint = "wg\.example:51820"$/m);
    assert.deepEqual(leftOut, []);
    await assert.rejects(read(clash('{name: D, type: direct}')), /there are no nodes in/);
  });

  test('leaves out tunnels of WireGuard to where nothing is, as all nodes', async () => {
    const { nodes, leftOut } = await read(
      clash(
        wireguard('Loop', '127.0.0.1'),
        wireguard('Loop 6', '::1'),
        wireguard('None', 's.example', 1),
        wireguard('IPv6', '2001:db8::1'),
      ),
    );
    assert.deepEqual(
      leftOut.map(({ name }) => name),
      ['Loop', 'Loop 6', 'None'],
    );
    assert.deepEqual(
      nodes.map(({ there }) => there),
      ['IPv6'],
    );
  });

  test('names the cause of what is no list', async () => {
    await assert.rejects(read('Your token is invalid.'), ({ cause }: Error) => {
      assert.ok(cause instanceof ImportError);
      return true;
    });
  });

  test('tells how to go on where it is a web page', async () => {
    await assert.rejects(read('<html>'), ({ hint }: RefusedAnswerError) => {
      assert.match(hint ?? '', /--user-agent/);
      return true;
    });
  });

  for (const [what, body, cause] of [
    ['nothing', '', /^the answer is empty$/],
    ['white space', ' \n\t\n', /^the answer is empty$/],
    [
      'a login page',
      '\n<!DOCTYPE html><html><head><title>Sign in\u001b</title>',
      /^the answer is a web page with the title "Sign in\\u001b", not a list of nodes$/,
    ],
    ['a title alone', '<title> Sign\n in </title>', /the title "Sign\\n in", not/],
    ['a page with a long title', `<title>${'x'.repeat(99)}</title>`, /the title "x{80}", not/],
    ['a title in another one', '<TITLE lang="en">A</TITLE><title>B</title>', /the title "A", not/],
    ['a page without a title', '<html>x</title>', /a web page, not/],
    ['a page with a title that does not begin', '<a </title <title', /a web page, not/],
    ['a page with a title that does not end', '<html><title>Sign in', /a web page, not/],
    ['a page with an empty title', '<title> </title>', /a web page, not/],
    ['a page with a late title', `<a>${' '.repeat(16 * 1024)}<title>A</title>`, /a web page, not/],
    ['an XML error', '<Error><Code>AccessDenied</Code></Error>', /a web page, not/],
    ['bytes that are no text', Uint8Array.of(0x1f, 0x8b, 8, 0xff), /invalid UTF-8/],
    ['a sentence', 'Your token is invalid.', /not a list of nodes/],
    ['an error in JSON', '{"error":"expired"}', /not a list of nodes: JSON without "outbounds"/],
    [
      'an expired account',
      [at('s.example:443', 'Expired'), at('s.example:443', 'Traffic left: 0')].join('\n'),
      /^the list has no nodes, only messages: "Expired", "Traffic left: 0"$/,
    ],
    [
      'many messages, of any length',
      ['Expired', `Expired: ${'x'.repeat(99)}`, 'Traffic: 3', 'Expired: 4']
        .map((name) => at('s.example:443', name))
        .join('\n'),
      /^the list has no nodes, only messages: "Expired", "Expired: x{71}", "Traffic: 3"$/,
    ],
    [
      'a placeholder with a long name',
      at('0.0.0.0:443', 'x'.repeat(99)),
      /^the only node cannot be used; "x{80}": it is a placeholder/,
    ],
    [
      'placeholders',
      [at('0.0.0.0:443', 'A'), at('example.com:443', 'B'), at('s.example:1', 'C')].join('\n'),
      /^none of the 3 nodes can be used; "A": it is a placeholder/,
    ],
    ['port 0', at('s.example:0', 'A'), /^the only node cannot be used; "A": its port/],
    ['a list without nodes', 'proxies: []\n', /^there are no nodes in a configuration of Clash/],
    ['nested JSON', `{"outbounds":${'['.repeat(20_000)}`, /nested more than 64 levels/],
    ['nested YAML', `proxies: ${'['.repeat(5_000)}`, /YAML|nested/],
    ['YAML with an alias of nothing', 'proxies: [*nodes]\n', /an alias of no anchor/],
    [
      'YAML that expands',
      `a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nproxies: [${'*e,'.repeat(10)}]\n`,
      /too many aliases/,
    ],
    [
      'more nodes than Weir takes',
      Array.from(
        { length: MOST_NODES + 1 },
        (_, index) => `trojan://p@s:${(index % 9) + 2}#n`,
      ).join('\n'),
      /more than 10000 nodes/,
    ],
  ] as const) {
    test(`is refused when it is ${what}`, async () => {
      await assert.rejects(read(body), (error) => {
        assert.ok(error instanceof RefusedAnswerError);
        assert.match(error.message, cause);
        return true;
      });
    });
  }
});
