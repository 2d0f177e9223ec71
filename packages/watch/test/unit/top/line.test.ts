import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { columnsOf } from '@weir/base/tables';
import { cut, fitted, foreign, lineText, span } from '../../../src/top/line.ts';

for (const [text, columns, expected] of [
  ['', 0, ''],
  ['', 3, ''],
  ['abc', 3, 'abc'],
  ['abcd', 3, 'ab…'],
  ['abcd', 1, '…'],
  ['abcd', 0, ''],
  ['abcd', -1, ''],
  ['漢字', 4, '漢字'],
  ['漢字', 3, '漢…'],
  // A wide character is not cut in half.
  ['漢字', 2, '…'],
  ['e\u0301e\u0301e\u0301', 3, 'e\u0301e\u0301e\u0301'],
  ['e\u0301e\u0301e\u0301', 2, 'e\u0301…'],
  ['👩‍👩‍👧', 2, '👩‍👩‍👧'],
] as const) {
  test(`${JSON.stringify(text)} cut to ${columns} columns is ${JSON.stringify(expected)}`, () => {
    assert.equal(cut(text, columns), expected);
  });
}

test('a text is filled with spaces on one side', () => {
  assert.equal(fitted('ab', 4), 'ab  ');
  assert.equal(fitted('ab', 4, 'right'), '  ab');
  assert.equal(fitted('漢字', 3, 'right'), '漢…');
  assert.equal(fitted('字', 3, 'right'), ' 字');
});

test('whatever the text, it takes the columns that it is fitted to', () => {
  const text = fc.string({ unit: fc.oneof(fc.constantFrom('漢', '🚀', 'é', 'a'), fc.string()) });
  fc.assert(
    fc.property(text, fc.integer({ min: 1, max: 40 }), (value, columns) => {
      assert.equal(columnsOf(fitted(value, columns)), columns);
      assert.ok(columnsOf(cut(value, columns)) <= columns);
    }),
  );
});

test('a line is cut where the terminal ends, whatever its spans', () => {
  const line = [span('abc', 'bold'), span('defg'), span('h', 'bad')];
  assert.equal(lineText(line, 8, 'none'), 'abcdefgh');
  assert.equal(lineText(line, 5, 'none'), 'abcd…');
  assert.equal(lineText(line, 3, 'none'), 'abc');
  assert.equal(lineText(line, 0, 'none'), '');
});

test('styles are sequences around their span; without colour only those that are none stay', () => {
  const line = [span('a', 'bold'), span('b', 'bad'), span('c', 'selected'), span('d')];
  assert.equal(lineText(line, 9, 'all'), '\x1b[1ma\x1b[0m\x1b[31;1mb\x1b[0m\x1b[7mc\x1b[0md');
  assert.equal(lineText(line, 9, 'colourless'), '\x1b[1ma\x1b[0mb\x1b[7mc\x1b[0md');
  assert.equal(lineText(line, 9, 'none'), 'abcd');
});

test('texts from elsewhere are escaped', () => {
  assert.equal(
    foreign('a\x1b[2J\r\n\u202eb\x9b').text,
    String.raw`a\u{1b}[2J\u{d}\u{a}\u{202e}b\u{9b}`,
  );
});
