import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { diff, patch } from '../../../src/dashboard/shared/delta.ts';
import type { Delta, JsonValue } from '../../../src/dashboard/shared/protocol.ts';

/** As the stream carries it. */
const carried = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

function checkPair(before: JsonValue | undefined, after: JsonValue): Delta | undefined {
  const delta = diff(before, after);
  if (delta) assert.deepEqual(patch(before, carried(delta)), after);
  else assert.deepEqual(before, after);
  return delta;
}

const rows = (...ids: readonly number[]): JsonValue => ids.map((id) => ({ id, bytes: id * 10 }));

describe('the difference of two values', () => {
  test('is the value where there was none, and nothing where they are equal', () => {
    assert.deepEqual(diff(undefined, { a: 1 }), { set: { a: 1 } });
    assert.equal(diff({ a: [1, { b: null }] }, { a: [1, { b: null }] }), undefined);
  });

  test('names the keys that have changed and those that are gone', () => {
    assert.deepEqual(
      checkPair({ a: 1, b: 2, c: { d: 3, e: 4 } }, { a: 1, c: { d: 3, e: 5 }, f: 6 }),
      {
        keys: { c: { keys: { e: { set: 5 } } }, f: { set: 6 } },
        gone: ['b'],
      },
    );
  });

  test('a key that is undefined is absent', () => {
    assert.equal(diff({ a: undefined }, {}), undefined);
    assert.equal(diff({}, { a: undefined }), undefined);
    assert.deepEqual(diff({ a: 1 }, { a: undefined }), { keys: {}, gone: ['a'] });
  });

  test('leaves the order of rows out while it is the same', () => {
    const after = [
      { id: 1, bytes: 10 },
      { id: 2, bytes: 21 },
    ];
    assert.deepEqual(checkPair(rows(1, 2), after), {
      rows: [[2, { keys: { bytes: { set: 21 } } }]],
    });
  });

  test('moves, adds and removes rows', () => {
    assert.deepEqual(checkPair(rows(1, 2, 3), rows(3, 1, 4)), {
      order: [3, 1, 4],
      rows: [[4, { set: { id: 4, bytes: 40 } }]],
    });
    checkPair(rows(), rows(1));
    checkPair(rows(1), rows());
  });

  test('replaces arrays without ids, or with the same id twice', () => {
    assert.deepEqual(checkPair([1, 2], [1, 3]), { set: [1, 3] });
    assert.deepEqual(checkPair(rows(1), rows(1, 1)), { set: rows(1, 1) });
  });

  test('tells ids that are numbers from those that are texts', () => {
    checkPair(
      [{ id: 1 }, { id: '1', a: 2 }],
      [
        { id: '1', a: 2 },
        { id: 1, a: 3 },
      ],
    );
  });
});

test('rows that have not changed keep their identity, and with them values below changed ones', () => {
  const before = {
    rows: [
      { id: 1, way: { in: 'socks' } },
      { id: 2, n: 1 },
    ],
    total: 2,
  } as const;
  const delta = diff(before, {
    rows: [
      { id: 2, n: 2 },
      { id: 1, way: { in: 'socks' } },
    ],
    total: 2,
  });
  assert.ok(delta);
  const after = patch(before, delta) as { readonly rows: readonly unknown[] };
  assert.equal(after.rows[1], before.rows[0]);
  assert.notEqual(after.rows[0], before.rows[1]);
});

test('names such as __proto__ are names', () => {
  const after = JSON.parse('{"__proto__":{"a":1},"constructor":2}') as JsonValue;
  const result = patch({}, carried(diff({}, after) ?? assert.fail()));
  assert.equal(JSON.stringify(result), JSON.stringify(after));
  assert.equal(({} as { a?: number }).a, undefined);
});

test('a difference from another value is refused', () => {
  assert.throws(() => patch(1, { keys: {} }), RangeError);
  assert.throws(() => patch({}, { rows: [] }), RangeError);
  assert.throws(() => patch([], { order: [7], rows: [] }), RangeError);
});

const table = fc.uniqueArray(
  fc.record({
    id: fc.oneof(fc.nat(6), fc.constantFrom('a', 'b', '1', '__proto__')),
    value: fc.jsonValue({ maxDepth: 1 }),
  }),
  { selector: ({ id }) => id, maxLength: 8 },
);
const value = fc
  .oneof(
    fc.jsonValue(),
    table,
    fc.record({ rows: table, total: fc.nat(3) }),
    fc.dictionary(fc.constantFrom('a', 'b', 'id', '__proto__'), fc.nat(2)),
  )
  .map((each) => carried(each) as JsonValue);

test('any value becomes any other, and the same one needs nothing', () => {
  fc.assert(
    fc.property(value, value, (before, after) => {
      checkPair(before, after);
      assert.equal(diff(before, carried(before)), undefined);
    }),
  );
});

test('a stream of differences arrives at the last value', () => {
  fc.assert(
    fc.property(fc.array(value, { minLength: 1, maxLength: 6 }), (values) => {
      let at: JsonValue | undefined;
      let sent: JsonValue | undefined;
      for (const each of values) {
        const delta = diff(sent, each);
        sent = each;
        if (delta) at = patch(at, carried(delta));
      }
      assert.deepEqual(at, sent);
    }),
  );
});
