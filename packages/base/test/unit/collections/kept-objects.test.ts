import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeptObjects } from '../../../src/collections/kept-objects.ts';

test('an object is made once for its name, and again for another class', () => {
  const kept = new KeptObjects();
  const first = kept.recall('a', Map, () => new Map());
  assert.equal(
    kept.recall('a', Map, () => new Map()),
    first,
  );
  assert.notEqual(
    kept.recall('b', Map, () => new Map()),
    first,
  );
  const other = kept.recall('a', Set, () => new Set());
  assert.ok(other instanceof Set);
  assert.equal(
    kept.recall('a', Set, () => new Set()),
    other,
  );
});
