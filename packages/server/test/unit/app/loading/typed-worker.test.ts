import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ValueJoiner, ValueSplitter } from '../../../../src/app/loading/typed-worker.ts';

/** Sends a value as messages between threads are, and returns what arrives and how many pieces it took. */
function sent(value: unknown): { readonly value: unknown; readonly pieces: number } {
  const splitter = new ValueSplitter(value);
  const joiner = new ValueJoiner(structuredClone(splitter.first));
  let pieces = 0;
  if (!joiner.isComplete) {
    for (let piece = splitter.next(); piece; piece = splitter.next()) {
      joiner.add(structuredClone(piece));
      pieces++;
    }
  }
  assert.equal(splitter.next(), undefined);
  return { value: joiner.value, pieces };
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

describe('a value in pieces', () => {
  test('without long lists is complete with the first piece', () => {
    const value = { short: numbers(256), deep: [{ text: 'a', none: undefined }] };
    assert.deepEqual(sent(structuredClone(value)), { value, pieces: 0 });
  });

  test('has the items of every long list in order', () => {
    const value = { one: numbers(257), deep: { two: numbers(1000) }, text: 'a' };
    assert.deepEqual(sent(structuredClone(value)), { value, pieces: 2 + 4 });
  });

  test('keeps a list that is used twice one list', () => {
    const list = numbers(300);
    const { value } = sent({ one: list, two: list });
    const { one, two } = value as { one: number[]; two: number[] };
    assert.deepEqual(one, numbers(300));
    assert.equal(one, two);
  });

  test('transfers whole buffers of the first piece, unless a later piece has them too', () => {
    const [own, shared] = [new Uint8Array(8), new Uint8Array(8)];
    const part = new Uint8Array(8).subarray(2);
    const later = numbers(300).map(() => shared);
    const splitter = new ValueSplitter({ own, shared, part, later });
    assert.deepEqual(splitter.transferable(), [own.buffer]);
  });
});
