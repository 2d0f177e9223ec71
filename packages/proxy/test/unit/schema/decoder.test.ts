import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as decode from '../../../src/schema/decoder.ts';
import { DecodeError } from '../../../src/schema/errors.ts';
import type { Node } from '../../../src/schema/node.ts';
import { node, type Plain } from '../../../../../test/support/schema/nodes.ts';

/** The message and place of a refusal. */
function refusal(decoder: decode.Decoder<unknown>, value: Node): [string, number] {
  try {
    decoder(value);
  } catch (error) {
    assert.ok(error instanceof DecodeError);
    return [error.message, error.span.start];
  }
  return assert.fail('it was accepted');
}

test('scalars give their values', () => {
  assert.equal(decode.str(node('text')), 'text');
  assert.equal(decode.secret(node('text')), 'text');
  assert.equal(decode.bool(node(true)), true);
  assert.equal(decode.u8(node(0n)), 0);
  assert.equal(decode.u8(node(255n)), 255);
  assert.equal(decode.u16(node(65_535n)), 65_535);
  assert.equal(decode.u64(node(2n ** 64n - 1n)), 2n ** 64n - 1n);
  assert.deepEqual(decode.located(decode.str)(node('x')), {
    value: 'x',
    span: { start: 0, end: 1 },
  });
});

const WRONG_TYPES: readonly [decode.Decoder<unknown>, Plain, string][] = [
  [decode.str, 5n, 'invalid type: integer `5`, expected a string'],
  [decode.str, 1.5, 'invalid type: floating point `1.5`, expected a string'],
  [decode.str, 2, 'invalid type: floating point `2.0`, expected a string'],
  [decode.str, Number.NaN, 'invalid type: floating point `NaN`, expected a string'],
  [decode.str, Infinity, 'invalid type: floating point `inf`, expected a string'],
  [decode.str, -Infinity, 'invalid type: floating point `-inf`, expected a string'],
  [decode.str, true, 'invalid type: boolean `true`, expected a string'],
  [decode.str, [], 'invalid type: sequence, expected a string'],
  [decode.str, {}, 'invalid type: map, expected a string'],
  [decode.bool, 'yes', 'invalid type: string "yes", expected a boolean'],
  [decode.bool, 'a"b\n', 'invalid type: string "a\\"b\\n", expected a boolean'],
  [decode.u16, '80', 'invalid type: string "80", expected u16'],
  [decode.u16, 70_000n, 'invalid value: integer `70000`, expected u16'],
  [decode.u16, -1n, 'invalid value: integer `-1`, expected u16'],
  [decode.u8, 256n, 'invalid value: integer `256`, expected u8'],
  [decode.u64, 2n ** 64n, 'invalid value: integer `18446744073709551616`, expected u64'],
  [decode.array(decode.str), 'a', 'invalid type: string, expected a sequence'],
  [decode.table, [], 'invalid type: sequence, expected a table'],
];

for (const [decoder, value, message] of WRONG_TYPES) {
  test(`refused: ${message}`, () => assert.deepEqual(refusal(decoder, node(value)), [message, 0]));
}

test('a date is named as it is written', () => {
  const date: Node = { kind: 'datetime', span: { start: 0, end: 10 }, value: '1979-05-27' };
  assert.deepEqual(refusal(decode.str, date), [
    'invalid type: datetime `1979-05-27`, expected a string',
    0,
  ]);
});

test('the value of a secret of the wrong type is not named', () => {
  for (const value of [1234n, 1.5, true]) {
    const [message] = refusal(decode.secret, node(value));
    assert.match(message, /^invalid type: (?:integer|float|boolean), expected a string$/);
  }
});

test('a word out of a few is one of them or is refused', () => {
  const decoder = decode.variant('a', 'b');
  const word: 'a' | 'b' = decoder(node('b'));
  assert.equal(word, 'b');
  assert.deepEqual(refusal(decoder, node('c')), ['unknown variant `c`, expected `a` or `b`', 0]);
  assert.deepEqual(refusal(decode.variant('a'), node('')), ['unknown variant ``, expected `a`', 0]);
  assert.deepEqual(refusal(decode.variant('a', 'b', 'c'), node('A')), [
    'unknown variant `A`, expected one of `a`, `b`, `c`',
    0,
  ]);
});

test('an array reports the first of its items that is wrong', () => {
  assert.deepEqual(decode.array(decode.str)(node(['a', 'b'])), ['a', 'b']);
  assert.deepEqual(refusal(decode.array(decode.str), node(['a', 1n, 2n])), [
    'invalid type: integer `1`, expected a string',
    2,
  ]);
});

test('a conversion refuses at the place of the value', () => {
  const even = decode.converted(decode.u8, (value, reject) => {
    if (value % 2 === 1) throw reject(`${value} is odd`);
    return value / 2;
  });
  assert.equal(even(node(4n)), 2);
  assert.deepEqual(refusal(decode.array(even), node([4n, 3n])), ['3 is odd', 2]);
});

test('an error of a decoder itself is not taken for one of the document', () => {
  const broken = decode.array(() => {
    throw new TypeError('a defect');
  });
  assert.throws(() => broken(node(['x'])), TypeError);
});
