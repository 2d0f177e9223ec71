import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RegexCache } from '@weir/proxy/names';
import { readForeign } from '../../../src/import/document.ts';
import { fromDotNet } from '../../../src/import/values/expressions.ts';
import '../../../../../test/support/import/load-forms.ts';

/** Whether Weir's expression for one of .NET matches. */
const matches = (pattern: string, text: string): boolean =>
  new RegexCache().compile([fromDotNet(pattern)]).matches(text).length > 0;

// What regexp2 1.11.5, which mihomo uses, says to each: texts that match, and texts that do not.
const AS_REGEXP2: readonly (readonly [pattern: string, yes: string, no: string])[] = [
  ['^hk-[a-z-[aeiou]]$', 'hk-b hk-z', 'hk-a hk-- hk-['],
  ['^[^a-z-[0-9]]$', 'A -', 'a 0'],
  ['^[a-z-[b-y-[e]]]$', 'a e z', 'b y'],
  ['^[a-z-[^aeiou]]$', 'a e', 'b -'],
  ['^[a&&b]$', 'a b &', 'c'],
  ['^[a~~b]$', 'a b ~', 'c'],
  ['^[+--]$', '+ , -', 'a .'],
  ['^[]a]$', '] a', '['],
  ['^[^]a]$', 'b [', '] a'],
  ['^[a[b]$', 'a [ b', 'c'],
  ['^[a-]$', 'a -', 'b'],
  ['^[-a]$', 'a -', 'b'],
  ['^x{,2}$', 'x{,2}', 'x xx'],
  ['^x{2}$', 'xx', 'x x{2}'],
  ['^x{1,2}$', 'x xx', 'xxx'],
  ['^x{$', 'x{', 'x'],
  ['^x}$', 'x}', 'x'],
  [String.raw`^a\<b\>$`, 'a<b>', 'ab'],
  [String.raw`^[\w\-.]+$`, 'a-b.c', 'a/b'],
  [String.raw`^\p{L}[\p{L}]\x41\u0042[\x43]$`, 'abABC', 'ab'],
  [String.raw`^[\]\[\^]$`, '] [ ^', 'a'],
  [String.raw`^(?:ads?|(?<n>track))\d*\.`, 'ad. ads1. track.', 'adx.'],
  [String.raw`^(?i)a(?-i:b)$`, 'ab Ab', 'aB'],
];

describe('an expression of mihomo', () => {
  for (const [pattern, yes, no] of AS_REGEXP2) {
    test(`means the same in Weir: ${pattern}`, () => {
      for (const text of yes.split(' ')) assert.ok(matches(pattern, text), text);
      for (const text of no.split(' ')) assert.ok(!matches(pattern, text), text);
    });
  }

  for (const pattern of [
    '[[:alpha:]]',
    '[a-z-[aeiou]x]',
    '[a',
    '[]',
    'a\\',
    String.raw`(a)\1`,
    String.raw`\b{start}`,
    String.raw`[\b]`,
    String.raw`[+-\-~]`,
    String.raw`\p`,
    String.raw`\cA`,
    '(?x)a b',
    '(?n)a',
    '[a-['.repeat(20),
  ]) {
    test(`is refused where Weir cannot say it: ${pattern}`, () =>
      assert.throws(() => fromDotNet(pattern), {
        name: 'ImportError',
        message: /means something else in Weir's regular expressions$/,
      }));
  }

  test('is translated in linear time', () => {
    for (const part of ['[', '{', '(?', '\\', '[a-', '[:', 'x{1', '-[']) {
      const pattern = part.repeat(20_000);
      try {
        fromDotNet(pattern);
      } catch (error) {
        assert.equal((error as Error).name, 'ImportError');
      }
    }
  });

  test('is translated in rules, and leaves out the rule where it cannot be', () => {
    const node = '{name: hk-a, type: trojan, server: a.test, port: 1, password: x}';
    const { rules } = readForeign(
      `proxies:\n- ${node}\nrules:\n- 'DOMAIN-REGEX,^[a-z-[aeiou]]+$,hk-a'\n- 'DOMAIN-REGEX,^[[:alpha:]]$,hk-a'\n- MATCH,DIRECT\n`,
    );
    const [translated, refused] = rules;
    assert.ok(translated && 'any' in translated);
    assert.deepEqual(translated.any, [{ domain_regex: ['(?i)^[[a-z]--[aeiou]]+$'] }]);
    assert.ok(refused && 'skipped' in refused);
    assert.match(refused.skipped, /means something else/);
  });

  test('is translated in filters of groups, and said where it cannot be', () => {
    const node = (name: string): string =>
      `- {name: ${name}, type: trojan, server: a.test, port: 1, password: x}\n`;
    const group = (more: string): string =>
      `proxies:\n${node('hk-a')}${node('hk-b')}proxy-groups:\n- {name: g, type: url-test, include-all: true, ${more}}\n`;
    const membersOf = (more: string): unknown => readForeign(group(more)).groups[0]?.members;
    assert.deepEqual(membersOf("filter: '^hk-[a-z-[aeiou]]$'"), [{ kind: 'entry', index: 1 }]);
    assert.deepEqual(membersOf("exclude-filter: '^hk-[a-z-[aeiou]]$'"), [
      { kind: 'entry', index: 0 },
    ]);
    const [found] = readForeign(group("filter: '[[:alpha:]]'")).groups;
    assert.deepEqual(found?.members, []);
    assert.ok(found.notes.some((note) => note.startsWith('"filter" is not an expression')));
  });
});
