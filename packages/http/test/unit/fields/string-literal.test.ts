import assert from 'node:assert/strict';
import { test } from 'node:test';
import { writeText } from '../../../src/fields/huffman.ts';

const written = (text: string): string => {
  const out = Buffer.alloc(64);
  return out.toString('hex', 0, writeText(out, 0, text, 7, 0));
};

test('a text is in Huffman code where that is shorter, and as it is otherwise', () => {
  // RFC 7541, appendix C.4.1: 12 bytes for 15.
  assert.equal(written('www.example.com'), '8cf1e3c2e5f23a6ba0ab90f4ff');
  for (const [text, hex] of [
    ['', '00'],
    ['~', '017e'], // 13 bits
    ['X', '0158'], // 8 bits: as long
    ['\xff\xfe', '02fffe'],
  ] as const) {
    assert.equal(written(text), hex, text);
  }
});
