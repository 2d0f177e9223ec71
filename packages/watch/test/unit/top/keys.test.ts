import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { KeyReader, type Key } from '../../../src/top/press.ts';
import { CODE_POINT } from '../../../../../test/support/data/code-point.ts';

/** The keys in pieces, after which nothing comes. */
function keysOf(...pieces: readonly string[]): readonly Key[] {
  const reader = new KeyReader();
  return [...pieces.flatMap((piece) => reader.push(piece)), ...reader.flush()];
}

for (const [input, keys] of [
  ['jK?/ ', ['j', 'K', '?', '/', ' ']],
  ['é漢🚀', ['é', '漢', '🚀']],
  ['\x1b[A\x1b[B\x1b[C\x1b[D', ['up', 'down', 'right', 'left']],
  ['\x1bOA\x1bOB\x1bOH\x1bOF', ['up', 'down', 'home', 'end']],
  ['\x1b[H\x1b[F\x1b[1~\x1b[4~\x1b[7~\x1b[8~', ['home', 'end', 'home', 'end', 'home', 'end']],
  ['\x1b[3~\x1b[5~\x1b[6~\x1b[Z', ['delete', 'pageup', 'pagedown', 'shift-tab']],
  ['\r\n\t\x7f\b', ['enter', 'enter', 'tab', 'backspace', 'backspace']],
  ['\x03\x0c\x15\x1a', ['ctrl-c', 'ctrl-l', 'ctrl-u', 'ctrl-z']],
  ['\x1b', ['escape']],
  ['\x1b\x1b', ['escape', 'escape']],
  ['\x1bx', ['escape', 'x']],
  // Unknown: Ctrl and an arrow, F5, a mouse report, control characters of both sets.
  ['\x1b[1;5A\x1b[15~\x1b[<0;3;4Mq', ['q']],
  ['\x00\x01\x9b\x85q', ['q']],
  ['\ud800q', ['q']],
  // A sequence that another aborts, and one that has no end.
  ['\x1b[1\x1b[Aq', ['up', 'q']],
  ['\x1b[', []],
  ['\x1b[12', []],
] as const) {
  test(`${JSON.stringify(input)} is ${keys.join(', ') || 'no key'}`, () => {
    assert.deepEqual(keysOf(input), keys);
    assert.deepEqual(keysOf(...Array.from(input)), keys);
  });
}

test('an ESC is a key when nothing follows it, and the start of a sequence when it does', () => {
  const reader = new KeyReader();
  assert.deepEqual(reader.push('a\x1b'), ['a']);
  assert.ok(reader.isWithin);
  assert.deepEqual(reader.push('[5'), []);
  assert.deepEqual(reader.push('~b'), ['pageup', 'b']);
  assert.ok(!reader.isWithin);
  reader.push('\x1b');
  assert.deepEqual(reader.flush(), ['escape']);
  assert.ok(!reader.isWithin);
  assert.deepEqual(reader.flush(), []);
});

test('a sequence without an end is given up after some characters', () => {
  const reader = new KeyReader();
  const digits = '1'.repeat(1_000);
  const keys = reader.push(`\x1b[${digits}`);
  assert.ok(!reader.isWithin);
  assert.ok(keys.length > 900 && keys.every((key) => key === '1'));
});

/** Text of what makes up sequences, and anything else. */
const INPUT = fc.string({
  unit: fc.oneof(
    fc.constantFrom('\x1b', '[', 'O', '1', '5', '~', ';', 'A', 'Z', '\r', '\x03', '\x9b'),
    fc.string({ unit: CODE_POINT, minLength: 1, maxLength: 1 }),
  ),
  maxLength: 200,
  size: 'max',
});

test('any input gives printable characters and names of keys, and leaves little behind', () => {
  fc.assert(
    fc.property(fc.array(INPUT, { maxLength: 5 }), (pieces) => {
      const reader = new KeyReader();
      for (const piece of pieces) {
        for (const key of reader.push(piece)) {
          assert.match(key, /^(?:[^\p{Cc}\p{Cs}]|[a-z]+(?:-[a-z]+)?)$/u);
        }
      }
      // A long parameter shows what is left of the pieces: it is bounded.
      reader.push('1'.repeat(40));
      assert.ok(!reader.isWithin);
    }),
  );
});

test('the keys do not depend on how the input is cut into pieces', () => {
  fc.assert(
    fc.property(fc.array(INPUT, { maxLength: 5 }), (pieces) => {
      // Between two halves of a character is no cut: the decoder of the stream sees to that.
      const whole = pieces.map((piece) => piece.toWellFormed());
      assert.deepEqual(keysOf(...whole), keysOf(whole.join('')));
    }),
  );
});
