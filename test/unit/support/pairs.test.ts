import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { cellTitle, impossible } from '../../support/matrix/cell.ts';
import { coveringCells, factorsOf, KEPT, possibleCells } from '../../support/matrix/chosen.ts';
import { coverPairs, pairsOf, type Factors } from '../../support/matrix/pairs.ts';

const NAMES = ['client', 'carrier', 'cipher', 'mux'] as const;
const value = fc.constantFrom('a', 'b', 'c');

/** Some of all combinations: the others are invalid. */
const candidates = fc.uniqueArray(fc.tuple(value, value, value, value), {
  maxLength: 81,
  size: 'max',
  selector: (values) => values.join(''),
});

const factors = (values: readonly string[]): Factors =>
  Object.fromEntries(NAMES.map((name, at) => [name, values[at] ?? '']));

const allPairs = (some: readonly Factors[]): Set<string> => new Set(some.flatMap(pairsOf));

describe('a covering array of strength 2', () => {
  test('has every pair of any candidate, candidates alone, and none that adds nothing', () => {
    fc.assert(
      fc.property(candidates, (all) => {
        const chosen = coverPairs(all, factors);
        assert.deepEqual(allPairs(chosen.map(factors)), allPairs(all.map(factors)));
        assert.deepEqual(
          chosen,
          all.filter((one) => chosen.includes(one)),
        );
        const whole = allPairs(all.map(factors)).size;
        for (const one of chosen) {
          const others: readonly string[][] = chosen.filter((other) => other !== one);
          assert.ok(allPairs(others.map(factors)).size < whole);
        }
        assert.deepEqual(coverPairs(all, factors), chosen);
      }),
    );
  });

  test('keeps what is to be kept', () => {
    fc.assert(
      fc.property(candidates, (all) => {
        const isKept = ([client]: readonly string[]): boolean => client === 'b';
        const chosen = coverPairs(all, factors, isKept);
        assert.deepEqual(chosen.filter(isKept), all.filter(isKept));
        assert.deepEqual(allPairs(chosen.map(factors)), allPairs(all.map(factors)));
      }),
    );
  });

  test('is small where all combinations are valid', () => {
    const values = ['a', 'b', 'c'];
    const all = values.flatMap((a) =>
      values.flatMap((b) => values.flatMap((c) => values.map((d) => [a, b, c, d]))),
    );
    assert.ok(coverPairs(all, factors).length <= 12);
  });
});

describe('the cells of an everyday run', () => {
  const all = possibleCells();
  const chosen = coveringCells(all);

  test('cover every pair of the matrix with fewer than half of its cells, all of them possible', () => {
    assert.deepEqual(allPairs(chosen.map(factorsOf)), allPairs(all.map(factorsOf)));
    assert.ok(chosen.length < all.length / 2, `${chosen.length} of ${all.length}`);
    assert.deepEqual(
      chosen.filter((cell) => impossible(cell) !== undefined),
      [],
    );
  });

  test('have those that have found a defect', () => {
    const titles = new Set(chosen.map(cellTitle));
    for (const [title, defect] of Object.entries(KEPT)) assert.ok(titles.has(title), defect);
  });
});
