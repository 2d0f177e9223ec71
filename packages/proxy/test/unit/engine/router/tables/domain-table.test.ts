import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { Hits } from '../../../../../src/engine/router/conditions.ts';
import { packNames } from '../../../../../src/engine/router/tables/domain-list.ts';
import {
  type NameSource,
  NameTable,
} from '../../../../../src/engine/router/tables/domain-table.ts';

const source = (list: number, suffix: boolean, ...names: string[]): NameSource => ({
  list,
  suffix,
  names: packNames(names),
});

/** The lists of a name, in order. */
function listsOf(table: NameTable, name: string, size = 100): number[] {
  const hits = new Hits(size);
  const bytes = Buffer.from(name);
  table.match(bytes, bytes.length, hits);
  return hits.lists.toSorted((a, b) => a - b);
}

test('a suffix stands for itself and its subdomains, a full name for itself', () => {
  const table = new NameTable([source(1, true, 'b.c'), source(2, false, 'b.c', 'a.b.c')]);
  assert.deepEqual(listsOf(table, 'b.c'), [1, 2]);
  assert.deepEqual(listsOf(table, 'a.b.c'), [1, 2]);
  assert.deepEqual(listsOf(table, 'x.b.c'), [1]);
  assert.deepEqual(listsOf(table, 'xb.c'), []);
  assert.deepEqual(listsOf(table, 'c'), []);
  assert.deepEqual(listsOf(table, ''), []);
});

test('a name in many lists is found in each, and costs its bytes once', () => {
  const table = new NameTable(
    Array.from({ length: 50 }, (_, list) => source(list, true, 'com', 'com')),
  );
  assert.equal(table.size, 50);
  assert.equal(listsOf(table, 'a.com').length, 50);
});

test('entries longer than any host name match nothing', () => {
  const long = 'a'.repeat(254);
  const table = new NameTable([source(0, false, long, 'b')]);
  assert.deepEqual(listsOf(table, long), []);
  assert.deepEqual(listsOf(table, 'b'), [0]);
});

test('names are distinguished by their bytes, not by their hash', () => {
  // So many names of equal length that hashes of 32 bits must have met.
  const names = Array.from({ length: 200_000 }, (_, i) => `${i}`.padStart(7, 'x'));
  const table = new NameTable([{ list: 3, suffix: false, names: packNames(names) }]);
  assert.equal(table.size, names.length);
  for (let i = 0; i < names.length; i += 97) assert.deepEqual(listsOf(table, names[i] ?? ''), [3]);
  for (let i = 0; i < names.length; i += 97) assert.deepEqual(listsOf(table, `y${i}`), []);
});

test('any table finds what comparing with every entry finds', () => {
  const name = fc
    .array(fc.string({ unit: fc.constantFrom('a', 'b', '\0', 'c'), maxLength: 2 }), {
      minLength: 1,
      maxLength: 5,
    })
    .map((labels) => labels.join('.'));
  const lists = fc.array(fc.tuple(fc.boolean(), fc.array(name, { maxLength: 6 })), {
    maxLength: 6,
  });
  fc.assert(
    fc.property(lists, fc.array(name), (entries, queries) => {
      const table = new NameTable(
        entries.map(([suffix, names], list) => source(list, suffix, ...names)),
      );
      for (const query of queries) {
        const expected = entries.flatMap(([suffix, names], list) => {
          const found = names
            .map((entry) => entry.replace(/\.$/, ''))
            .filter((entry) => entry !== '' && !entry.startsWith('.'))
            .some((entry) => query === entry || (suffix && query.endsWith(`.${entry}`)));
          return found ? [list] : [];
        });
        assert.deepEqual(listsOf(table, query), expected);
      }
    }),
    { numRuns: 500 },
  );
});
