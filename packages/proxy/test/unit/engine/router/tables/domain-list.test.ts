import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import {
  NameListBuilder,
  packNames,
  type NameList,
} from '../../../../../src/engine/router/tables/domain-list.ts';

function namesOf({ bytes, ends }: NameList): string[] {
  return Array.from(ends, (end, index) =>
    Buffer.from(bytes.subarray(index === 0 ? 0 : ends[index - 1], end)).toString(),
  );
}

test('entries are lower-cased, lose one dot at the end, and are left out when they match nothing', () => {
  const names = ['Example.COM', 'a.b.', '', '.', '.a', 'a..'];
  assert.deepEqual(namesOf(packNames(names)), ['example.com', 'a.b', 'a.']);
});

test('entries in other scripts become ASCII as names do', () => {
  const names = [
    'BÜCHER.example',
    'ｂlocked。example',
    'рф',
    '.bücher.example',
    '。a.example',
    'ü b',
  ];
  assert.deepEqual(namesOf(packNames(names)), [
    'xn--bcher-kva.example',
    'blocked.example',
    'xn--p1ai',
    '。a.example',
    'ü b',
  ]);
});

test('names added one by one as bytes become the same list', () => {
  const name = fc.string({
    unit: fc.constantFrom('a', 'B', 'Z', '[', '.', 'Ü', 'İ', '1'),
    maxLength: 40,
    size: 'max',
  });
  fc.assert(
    fc.property(fc.array(name, { maxLength: 40, size: 'max' }), (names) => {
      const builder = new NameListBuilder();
      for (const each of names) builder.add(Buffer.from(each));
      assert.deepEqual(namesOf(builder.build()), namesOf(packNames(names)));
    }),
    { numRuns: 300 },
  );
});
