import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { LocalHttpError } from '@weir/server/local-http';
import { cookieOf } from '../../../../src/dashboard/server/sessions.ts';
import { parseWatches } from '../../../../src/dashboard/server/window-stream.ts';
import { chooseEncoding } from '../../../../src/dashboard/files/page-files.ts';

describe('a cookie header', () => {
  test('has values by exact name', () => {
    const header = 'other=1; weir-dashboard-80=a=b ;weir-dashboard-8080=c';
    assert.equal(cookieOf(header, 'weir-dashboard-80'), 'a=b');
    assert.equal(cookieOf(header, 'weir-dashboard-8080'), 'c');
    assert.equal(cookieOf(header, 'weir'), undefined);
    assert.equal(cookieOf(undefined, 'weir'), undefined);
    assert.equal(cookieOf(`weir=${'x'.repeat(10_000)}`, 'weir'), undefined);
  });

  test('of any text is read', () => {
    fc.assert(
      fc.property(fc.string(), (header) => {
        const value = cookieOf(header, 'a');
        assert.ok(value === undefined || header.includes(value));
      }),
    );
  });
});

describe('a list of watches', () => {
  test('is read with its parameters', () => {
    assert.deepEqual(
      parseWatches([
        { id: 1, topic: 'now' },
        { id: 2, topic: 'log', parameters: { a: 1 } },
      ]),
      [
        { id: 1, topic: 'now', parameters: null },
        { id: 2, topic: 'log', parameters: { a: 1 } },
      ],
    );
  });

  for (const value of [
    null,
    {},
    [1],
    [{ id: 1 }],
    [{ id: '1', topic: 'now' }],
    [{ id: 1.5, topic: 'now' }],
    [
      { id: 1, topic: 'a' },
      { id: 1, topic: 'b' },
    ],
    Array.from({ length: 33 }, (_, id) => ({ id, topic: 'now' })),
  ]) {
    test(`${JSON.stringify(value).slice(0, 50)} is refused`, () =>
      assert.throws(() => parseWatches(value), LocalHttpError));
  }

  test('of any value is read or refused', () => {
    const watch = fc.record({
      id: fc.anything(),
      topic: fc.anything(),
      parameters: fc.jsonValue(),
    });
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), fc.array(watch)), (value) => {
        try {
          for (const { id, topic } of parseWatches(value)) {
            assert.ok(Number.isSafeInteger(id) && typeof topic === 'string');
          }
        } catch (error) {
          assert.ok(error instanceof LocalHttpError && error.status === 400);
        }
      }),
    );
  });
});

describe('the encoding of a file', () => {
  const packed = {
    bodies: new Map([
      ['br', Buffer.from('')],
      ['gzip', Buffer.from('')],
    ] as const),
  };
  for (const [accepted, expected] of [
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0, gzip;q=0.5', 'gzip'],
    ['BR', 'br'],
    ['identity', 'identity'],
    ['', 'identity'],
    [undefined, 'identity'],
  ] as const) {
    test(`is ${expected} for ${JSON.stringify(accepted)}`, () =>
      assert.equal(chooseEncoding(accepted, packed), expected));
  }
});
