import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { BoundedReader } from '../../../../src/net/links/bounded-reader.ts';
import { linkPair } from '../../../../src/net/links/memory-link.ts';

const LIMIT = 64;

/** A reader of these pieces, after which the peer ends. */
function readerOf(pieces: readonly Uint8Array[]) {
  const [near, far] = linkPair();
  void (async () => {
    for (const piece of pieces) await near.write(piece);
    await near.closeWrite();
  })();
  return { link: far, reader: new BoundedReader(far, LIMIT) };
}

describe('a bounded reader', () => {
  test('returns what was sent, however it was split, and does not change it afterwards', async () => {
    const pieces = fc.array(fc.uint8Array({ minLength: 1, maxLength: 40, size: 'max' }), {
      maxLength: 20,
    });
    const lengths = fc.array(fc.integer({ min: 1, max: LIMIT }), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(pieces, lengths, async (sent, asked) => {
        const all = Buffer.concat(sent);
        const { link, reader } = readerOf(sent);
        const taken: Buffer[] = [];
        let at = 0;
        for (const length of asked) {
          if (at + length > all.length) break;
          assert.deepEqual(await reader.peek(length), all.subarray(at, at + length));
          taken.push(await reader.bytes(length));
          at += length;
        }
        assert.deepEqual(Buffer.concat(taken), all.subarray(0, at));
        reader.release();
        const rest: Uint8Array[] = [];
        for (let chunk = await link.read(); chunk; chunk = await link.read()) rest.push(chunk);
        assert.deepEqual(Buffer.concat(rest), all.subarray(at));
      }),
      { numRuns: 200 },
    );
  });

  test('returns bytes that were read without a promise', async () => {
    const { reader } = readerOf([Buffer.from('abcd')]);
    assert.equal(await reader.byte(), 0x61);
    assert.deepEqual(reader.bytes(2), Buffer.from('bc'));
    assert.equal(reader.byte(), 0x64);
    await assert.rejects(async () => reader.byte(), /closed in the middle/);
    await assert.rejects(async () => reader.bytes(LIMIT + 1), /more than expected/);
  });

  test('finds a delimiter received byte by byte, and fails beyond its limit', async () => {
    const bytes = (text: string) => Array.from(Buffer.from(text), (byte) => Uint8Array.of(byte));
    const found = readerOf(bytes('abc\r\ndef')).reader;
    assert.equal((await found.until(Buffer.from('\r\n'))).toString(), 'abc');
    assert.equal((await found.bytes(3)).toString(), 'def');
    const endless = readerOf(bytes('a'.repeat(LIMIT + 1))).reader;
    await assert.rejects(endless.until(Buffer.from('\n')), /more than 64 bytes/);
  });
});
