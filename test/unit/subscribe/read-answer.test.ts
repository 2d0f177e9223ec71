import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { readAnswer } from '../../../src/subscribe/answer/read-answer.ts';
import { RefusedAnswerError } from '../../../src/subscribe/errors.ts';
import { MOST_NODES } from '../../../src/subscribe/source.ts';
import { link } from '../../support/subscribe/nodes.ts';

const read = (body: string | Uint8Array) =>
  readAnswer(Buffer.from(body), { fromThisMachine: false });

const at = (host: string, name: string): string =>
  `trojan://pw@${host}#${encodeURIComponent(name)}`;

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
    const { nodes } = await read('trojan://pw@[2001:db8::1]:443');
    assert.deepEqual(
      nodes.map(({ there }) => there),
      ['[2001:db8::1]:443'],
    );
  });

  for (const [what, body, cause] of [
    ['nothing', '', /^the answer is empty$/],
    ['white space', ' \n\t\n', /^the answer is empty$/],
    [
      'a login page',
      '\n<!DOCTYPE html><html><head><title>Sign in\u001b</title>',
      /^the answer is a web page with the title "Sign in\\u001b", not a list of nodes$/,
    ],
    ['an XML error', '<Error><Code>AccessDenied</Code></Error>', /a web page, not/],
    ['bytes that are no text', Uint8Array.of(0x1f, 0x8b, 8, 0xff), /invalid UTF-8/],
    ['a sentence', 'Your token is invalid.', /no list of nodes/],
    ['an error in JSON', '{"error":"expired"}', /no list of nodes: JSON without "outbounds"/],
    [
      'an expired account',
      [at('s.example:443', 'Expired'), at('s.example:443', 'Traffic left: 0')].join('\n'),
      /^the list has no nodes, only messages: "Expired", "Traffic left: 0"$/,
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
    [
      'YAML that expands',
      `a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\nproxies: [*d,*d,*d]\n`,
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

  test('is nodes or a named error, whatever is sent', async () => {
    const piece = fc.oneof(
      fc.constantFrom(
        link('A'),
        at('0.0.0.0:1', 'B'),
        '\n',
        'proxies:\n',
        '- {',
        '{"outbounds":[',
        '[Interface]\n',
        '&a',
        '*a',
        '<html>',
      ),
      fc.string({ unit: 'binary' }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 8 }), async (pieces) => {
        try {
          const { nodes } = await read(pieces.join(''));
          assert.ok(nodes.length > 0);
        } catch (error) {
          assert.ok(error instanceof RefusedAnswerError, String(error));
        }
      }),
      { numRuns: 60 },
    );
  });
});
