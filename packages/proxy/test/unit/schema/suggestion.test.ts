import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { meantHint, meantName, suggestion } from '../../../src/schema/suggestion.ts';

const CHOICES = [
  'routes',
  'reload',
  'connections',
  'close',
  'traffic',
  'freedom',
  'vless',
  'vmess',
];

for (const [word, meant] of [
  ['route', 'routes'],
  ['relaod', 'reload'],
  ['Connections', 'connections'],
  ['conn', 'connections'],
  ['vles', 'vless'],
  ['fredom', 'freedom'],
  ['co', 'connections'],
  ['c', undefined],
  ['vlses', 'vless'],
  ['vxess', 'vless'],
  ['vlxxs', undefined],
  ['cnnectins', 'connections'],
  ['zzz', undefined],
  ['', undefined],
  ['x'.repeat(100_000), undefined],
] as const) {
  test(`${JSON.stringify(word.slice(0, 20))} may mean ${meant ?? 'nothing known'}`, () =>
    assert.equal(suggestion(word, CHOICES), meant));
}

/** Words at one insertion, deletion, replacement or transposition from `word`, over three letters. */
function neighbours(word: string): Set<string> {
  const found = new Set<string>();
  for (let at = 0; at <= word.length; at++) {
    const [before, after] = [word.slice(0, at), word.slice(at)];
    for (const letter of ['a', 'b', 'c']) {
      found.add(before + letter + after);
      if (after !== '') found.add(before + letter + after.slice(1));
    }
    found.add(before + after.slice(1));
    const [first = '', second = ''] = after;
    found.add(before + second + first + after.slice(2));
  }
  return found;
}

test('a short word means what is one edit away, or begins with two of its letters', () => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(word, word, (typed, choice) => {
      const isMeant =
        neighbours(typed).has(choice) || (typed.length >= 2 && choice.startsWith(typed));
      assert.equal(suggestion(typed, [choice]), isMeant ? choice : undefined);
    }),
    { numRuns: 3000 },
  );
});

test('words of up to 64 characters are compared, with up to 1000 choices', () => {
  const [long, longer] = ['x'.repeat(64), 'x'.repeat(65)];
  assert.equal(suggestion(long, [long]), long);
  assert.equal(suggestion(longer, [longer]), undefined);
  assert.equal(suggestion(long, [longer]), undefined);
  assert.equal(suggestion('', ['a']), undefined);
  const others = Array.from({ length: 1000 }, (_, i) => `other-${i}`);
  assert.equal(suggestion('reload', [...others.slice(1), 'reload']), 'reload');
  assert.equal(suggestion('reload', [...others, 'reload']), undefined);
});

test('a name may be called by a part of it', () => {
  const names = ['🎥 Netflix', '🎥 Disney', 'Proxy'];
  assert.equal(meantName('Netflix', names), '🎥 Netflix');
  assert.equal(meantName('netflix', names), '🎥 Netflix');
  assert.equal(meantName('Proxxy', names), 'Proxy');
  assert.equal(meantName('xy', names), undefined, 'too short a part');
  assert.equal(meantName('Amazon', names), undefined);
  assert.equal(meantHint('Disney', names), 'did you mean "🎥 Disney"?');
  assert.equal(meantHint('Amazon', names), undefined);
});
