import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { Hits } from '../../../../../src/engine/router/conditions.ts';
import { KeywordTable } from '../../../../../src/engine/router/tables/keyword-table.ts';

function keywordsIn(keywords: readonly string[], text: string): number[] {
  const table = new KeywordTable(
    keywords.map((keyword, list) => ({ bytes: Buffer.from(keyword), lists: [list] })),
  );
  const hits = new Hits(keywords.length);
  const bytes = Buffer.from(text);
  table.match(bytes, bytes.length, hits);
  return hits.lists.toSorted((a, b) => a - b);
}

test('keywords inside, behind and across each other are all found', () => {
  const keywords = ['he', 'she', 'his', 'hers', 'e', 'x'];
  assert.deepEqual(keywordsIn(keywords, 'ushers'), [0, 1, 3, 4]);
  assert.deepEqual(keywordsIn(keywords, 'ahishe'), [0, 1, 2, 4]);
  assert.deepEqual(keywordsIn(keywords, ''), []);
});

test('nothing is found without keywords, or across bytes that occur in none', () => {
  assert.deepEqual(keywordsIn([], 'abc'), []);
  assert.deepEqual(keywordsIn(['ab'], 'a-b'), []);
});

test('the bytes of a letter beyond ASCII are one letter', () => {
  assert.deepEqual(keywordsIn(['ü', 'é', 'cher'], 'bücher'), [0, 2]);
});

test('any keywords are found exactly where includes() finds them', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', '.', 'é', 'ê'), maxLength: 12 });
  const keyword = text.filter((candidate) => candidate !== '');
  fc.assert(
    fc.property(fc.array(keyword, { maxLength: 12 }), text, (keywords, name) => {
      const expected = keywords.flatMap((each, list) => (name.includes(each) ? [list] : []));
      assert.deepEqual(keywordsIn(keywords, name), expected);
    }),
    { numRuns: 1000 },
  );
});

test('a table is made of buffers, which pass to another thread without a copy', () => {
  const { data } = new KeywordTable([{ bytes: Buffer.from('ads'), lists: [1, 2] }]);
  const { width, ...rest } = data;
  assert.equal(width, 4);
  for (const part of Object.values(rest)) assert.ok(ArrayBuffer.isView(part));
});
