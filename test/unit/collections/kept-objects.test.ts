import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeptObjects } from '../../../src/collections/kept-objects.ts';

class Filter {
  readonly kind = 'filter';
}
class Table {
  readonly kind = 'table';
}

test('an object is made once for its name, and again for another class', () => {
  const kept = new KeptObjects();
  const first = kept.recall('a', Filter, () => new Filter());
  assert.equal(
    kept.recall('a', Filter, () => new Filter()),
    first,
  );
  assert.notEqual(
    kept.recall('b', Filter, () => new Filter()),
    first,
  );
  const table = kept.recall('a', Table, () => new Table());
  assert.ok(table instanceof Table);
  assert.equal(
    kept.recall('a', Table, () => new Table()),
    table,
  );
});
